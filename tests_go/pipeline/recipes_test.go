package pipeline_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// recipePlan is the plan whose batches bring their recipes along.
var recipePlan = &plan.Plan{
	Source: plan.Source{Kind: plan.Recipe, Files: 16}, Pillow: plan.Pillow{PassOrder: plan.ShrinkFirst},
	SeekIndex: &plan.SeekIndex{BytesMax: 1 << 20},
}

// wish is one image of a message: a photo, by its path or its bytes, and what is to be done to it.
type wish struct {
	photo    int
	inMemory bool
	steps    []recipe.Step
	mode     recipe.Mode
}

// message is the wire form of fields of wishes, written apart from the reader in core/recipe.
func message(dir string, photos []photo, fields []recipe.Field, wishes [][]wish) []byte {
	var heads, sources, images, steps, body []byte
	u32 := func(dst *[]byte, values ...int) {
		for _, v := range values {
			*dst = binary.LittleEndian.AppendUint32(*dst, uint32(v))
		}
	}
	put := func(data []byte) (at, n int) {
		at = len(body)
		body = append(body, data...)
		return at, len(data)
	}
	counts := [4]int{len(fields), 0, 0, 0}
	for _, f := range fields {
		at, n := put(f.Table)
		u32(&heads, f.Count, int(f.DType), f.Channels, int(f.Size.Height), int(f.Size.Width), int(f.Order), at, n)
	}
	for k := range wishes {
		for _, w := range wishes[k] {
			p, kind := photos[w.photo], recipe.Path
			data := []byte(filepath.Join(dir, p.name) + "\x00")
			if w.inMemory {
				kind, data = recipe.Bytes, p.file
			}
			at, n := put(data)
			reader := len(sources) % 3 // whoever makes what the core refuses: nothing else depends on it
			u32(&sources, int(kind)+2*reader+16*int(w.mode), int(p.size.Width), int(p.size.Height), at, n)
			for _, v := range [2]int64{0, source.Whole} {
				sources = binary.LittleEndian.AppendUint64(sources, uint64(v))
			}
			bytes, modified := stamp(filepath.Join(dir, p.name))
			sources = binary.LittleEndian.AppendUint64(sources, bytes)
			sources = binary.LittleEndian.AppendUint64(sources, modified)
			u32(&images, counts[1], k, counts[3], len(w.steps))
			for _, s := range w.steps {
				steps = append(steps, byte(s.Kind), byte(s.Filter), byte(s.Mode), s.Channels, s.Fill[0], s.Fill[1], s.Fill[2], s.Shift)
				u32(&steps, int(s.Left), int(s.Top), int(s.Right), int(s.Bottom), int(s.Width), int(s.Height))
				steps = append(steps, parameters(s)...)
			}
			counts[1]++
			counts[2]++
			counts[3] += len(w.steps)
		}
	}
	whole := []byte("GLB2")
	u32(&whole, counts[0], counts[1], counts[2], counts[3], len(body))
	for _, part := range [][]byte{heads, sources, images, steps, body} {
		whole = append(whole, part...)
	}
	return whole
}

// stamp is a file's size and time of modification; zeros if there is none.
func stamp(path string) (bytes, modifiedNs uint64) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0
	}
	return uint64(info.Size()), uint64(info.ModTime().UnixNano())
}

// parameters are what follows a step in wire form.
func parameters(s recipe.Step) (more []byte) {
	switch s.Kind {
	case recipe.Lookup:
		more = s.Table[:]
	case recipe.Brightness, recipe.Contrast, recipe.Saturation, recipe.Sharpness:
		more = binary.LittleEndian.AppendUint32(more, math.Float32bits(s.Factor))
	case recipe.BoxBlur:
		for _, v := range []uint32{math.Float32bits(s.Radius[0]), math.Float32bits(s.Radius[1]), s.Times} {
			more = binary.LittleEndian.AppendUint32(more, v)
		}
	case recipe.Stencil:
		for _, v := range append([]float32{s.Factor}, s.Weights[0][:5*5]...) {
			more = binary.LittleEndian.AppendUint32(more, math.Float32bits(v))
		}
	case recipe.Convolve, recipe.ConvolveUnit:
		for _, axis := range s.Weights {
			for _, v := range axis {
				more = binary.LittleEndian.AppendUint32(more, math.Float32bits(v))
			}
		}
	case recipe.Affine, recipe.Perspective:
		for _, v := range s.Matrix[:6+2*(s.Kind-recipe.Affine)] {
			more = binary.LittleEndian.AppendUint64(more, math.Float64bits(v))
		}
	}
	return more
}

// randomColour is a step that leaves an image of size as large as it is.
func randomColour(random *rand.Rand, s recipe.Size) recipe.Step {
	step := recipe.Step{Kind: recipe.Lookup + recipe.Kind(random.IntN(int(recipe.Rotate90-recipe.Lookup)))}
	if random.IntN(8) == 0 {
		step.Kind = []recipe.Kind{recipe.BoxBlur, recipe.Convolve, recipe.ConvolveUnit, recipe.Stencil}[random.IntN(4)]
	}
	step.Factor, step.Shift = 2*random.Float32(), uint8(random.Uint32())
	switch step.Kind {
	case recipe.Lookup:
		step.Table = &[3 * 256]byte{}
		for i := range step.Table {
			step.Table[i] = byte(random.Uint32())
		}
	case recipe.BoxBlur:
		step.Radius, step.Times = [2]float32{9 * random.Float32(), random.Float32()}, uint32(1+random.IntN(3))
	case recipe.Stencil:
		step.Width, step.Weights = 3, &[2][recipe.TapsMax]float32{{random.Float32(), -1, random.Float32()}}
	case recipe.Convolve, recipe.ConvolveUnit:
		step.Width, step.Height, step.Weights = 1, 1, &[2][recipe.TapsMax]float32{{random.Float32()}, {random.Float32()}}
	case recipe.Affine, recipe.Perspective:
		step.Width, step.Height, step.Filter = s.Width, s.Height, recipe.Bilinear
		step.Matrix = [8]float64{1, random.Float64(), -3, 0, 1, random.Float64()}
		if step.Kind == recipe.Perspective {
			step.Matrix[7] = random.Float64() / 100
		}
	}
	return step
}

// randomFields are fields with wishes that fit them.
func randomFields(random *rand.Rand, photos []photo) (fields []recipe.Field, wishes [][]wish) {
	for range 1 + random.IntN(4) {
		out := size(1+random.IntN(30), 1+random.IntN(30))
		f := recipe.Field{Count: 1 + random.IntN(12), DType: tensor.Float32, Channels: 3, Size: out, Table: floatTable(1)}
		if random.IntN(2) == 0 {
			f.DType, f.Channels, f.Table = tensor.Uint8, 1, byteTable()[:256]
		}
		f.Order = recipe.Order(random.IntN(2))
		var each []wish
		for range f.Count {
			i := random.IntN(len(photos))
			s := photos[i].size
			crop := recipe.Step{Kind: recipe.Crop, Width: 1 + random.Int32N(s.Width), Height: 1 + random.Int32N(s.Height)}
			crop.Left, crop.Top = random.Int32N(s.Width-crop.Width+1), random.Int32N(s.Height-crop.Height+1)
			steps := []recipe.Step{crop, {Kind: recipe.Resize, Filter: recipe.Bilinear, Width: out.Width, Height: out.Height}}
			if f.Channels == 1 {
				steps = append(steps, recipe.Step{Kind: recipe.Grayscale, Channels: 1})
			}
			if random.IntN(2) == 0 {
				steps = append(steps, recipe.Step{Kind: recipe.HorizontalFlip})
			}
			for range random.IntN(3) {
				steps = append(steps, randomColour(random, out))
			}
			each = append(each, wish{photo: i, inMemory: random.IntN(2) == 0 && photos[i].file != nil, steps: steps})
		}
		fields, wishes = append(fields, f), append(wishes, each)
	}
	return fields, wishes
}

// recipeRig is a run of recipes over photos in a folder.
func recipeRig(t *testing.T, photos []photo, o pipeline.Options) (*rig, string) {
	t.Helper()
	leakcheck.Check(t)
	dir := t.TempDir()
	for _, p := range photos {
		if p.file != nil {
			require.NoError(t, os.WriteFile(filepath.Join(dir, p.name), p.file, 0o600))
		}
	}
	l, err := pipeline.OpenRecipes(recipePlan, local.Store{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return start(t, l, recipePlan, photos, o), dir
}

// requireFields compares a delivered batch with the recipes carried out one by one.
func requireFields(t *testing.T, lease pipeline.Lease, photos []photo, fields []recipe.Field, wishes [][]wish) {
	t.Helper()
	require.Len(t, lease.Fields, len(fields))
	for k, f := range fields {
		require.Equal(t, f.Spec(), lease.Fields[k].Spec)
		got := lease.Slot.Bytes()[lease.Fields[k].Offset:]
		for place, w := range wishes[k] {
			p := photos[w.photo]
			want := apply(f.Table, f.Channels, f.DType.Size(), p.size, p.rgb, w.steps)
			if f.Order == recipe.ChannelsLast {
				want = interleaved(want, f.Channels, f.DType.Size())
			}
			require.Equal(t, want, got[place*len(want):(place+1)*len(want)], "field %d, place %d: %s", k, place, p.name)
		}
	}
}

// interleaved is an image whose channels were one behind the other.
func interleaved(planar []byte, channels, itemsize int) []byte {
	var out []byte
	plane := len(planar) / channels
	for at := 0; at < plane; at += itemsize {
		for c := range channels {
			out = append(out, planar[c*plane+at:c*plane+at+itemsize]...)
		}
	}
	return out
}

// Whatever the fields, the order of images in the message, the workers and the memory, each image is its own recipe's; files
// that only Pillow reads are asked for.
func TestRecipesAreCarriedOut(t *testing.T) {
	random := logSeed(t)
	photos := makePhotos(24, random.Uint64(), "png", "jpeg", "grey jpeg", "bmp", "cut png")
	for _, o := range []pipeline.Options{{Workers: 1, Streams: 1}, {Workers: 4, Streams: 1, Span: 3}} {
		r, dir := recipeRig(t, photos, o)
		var fields [][]recipe.Field
		var wishes [][][]wish
		var memories []unsafe.Pointer
		for range 12 {
			f, w := randomFields(random, photos)
			fields, wishes = append(fields, f), append(wishes, w)
			var lent []byte
			if len(fields)%2 == 1 {
				lent = lend(t, 64<<20)
			}
			memories = append(memories, address(lent))
			require.NoError(t, r.run.SubmitRecipes(message(dir, photos, f, w), 16, address(lent), len(lent)))
		}
		for k := range fields {
			flat := []wish{}
			for _, each := range wishes[k] {
				flat = append(flat, each...)
			}
			for {
				lease, ask, err := r.next()
				require.NoError(t, err)
				if ask.Kind == 0 {
					requireFields(t, lease, photos, fields[k], wishes[k])
					require.True(t, memories[k] == nil || memories[k] == lease.Slot.Data())
					lease.Slot.Release()
					break
				}
				require.Equal(t, pipeline.AskPixels, ask.Kind)
				p := photos[flat[ask.Index].photo]
				require.Error(t, r.run.Supply(make([]byte, 3), size(1, 1)), "an image of another size")
				require.NoError(t, r.run.Supply(p.rgb, p.size))
			}
		}
	}
}

// A file that nobody can read costs its batch, and no other.
func TestABrokenFileCostsItsBatch(t *testing.T) {
	photos := makePhotos(8, 3, "png", "missing", "empty", "broken jpeg")
	r, dir := recipeRig(t, photos, pipeline.Options{Workers: 2, Streams: 1})
	for i := range photos {
		photos[i].size = size(20, 20)
	}
	photos[0] = makePhotos(1, 3, "png")[0]
	field := recipe.Field{Count: 1, DType: tensor.Uint8, Channels: 3, Table: byteTable()}
	for _, i := range []int{0, 1, 0, 2, 3, 0} {
		field.Size = photos[i].size
		require.NoError(t, r.run.SubmitRecipes(message(dir, photos, []recipe.Field{field}, [][]wish{{{photo: i}}}), 16, nil, 0))
	}
	for _, i := range []int{0, 1, 0, 2, 3, 0} {
		if i == 0 {
			lease := r.deliver()
			require.Equal(t, []int{1, 3, int(photos[0].size.Height), int(photos[0].size.Width)}, []int(lease.Fields[0].Spec.Shape))
			lease.Slot.Release()
			continue
		}
		ask := r.question(pipeline.AskPixels)
		require.Contains(t, ask.Reason, photos[i].name)
		require.NoError(t, second(r.run.Reject()))
	}
}

// A file that was written anew is not the one that was opened, be it of the same size: Pillow is asked.
func TestAFileThatChangedIsNotRead(t *testing.T) {
	photos := makePhotos(1, 3, "png")
	r, dir := recipeRig(t, photos, pipeline.Options{Workers: 1, Streams: 1})
	field := recipe.Field{Count: 1, DType: tensor.Uint8, Channels: 3, Size: photos[0].size, Table: byteTable()}
	data := message(dir, photos, []recipe.Field{field}, [][]wish{{{photo: 0}}})
	path := filepath.Join(dir, photos[0].name)
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(path, later, later))
	require.NoError(t, r.run.SubmitRecipes(data, 16, nil, 0))
	require.Contains(t, r.question(pipeline.AskPixels).Reason, "changed since it was opened")
	require.NoError(t, second(r.run.Reject()))
}

// takesLong says whether a message asks for an image, if only on the way, of more pixels than a test has time for.
func takesLong(message []byte) bool {
	batch, err := recipe.Read(message)
	if err != nil {
		return false
	}
	for i, m := range batch.Images {
		s := batch.Sources[m.Source].Size
		for _, step := range batch.StepsOf(i) {
			if s = step.Out(s); int64(s.Width)*int64(s.Height) > 1<<22 {
				return true
			}
		}
	}
	return false
}

// A message that is not well formed is refused, or at worst fails its batch; it never harms the process.
func TestNoMessageDoesHarm(t *testing.T) {
	random := logSeed(t)
	photos := makePhotos(6, 5, "png", "jpeg")
	r, dir := recipeRig(t, photos, pipeline.Options{Workers: 2, Streams: 1})
	accepted := 0
	for range 3000 {
		fields, wishes := randomFields(random, photos)
		data := message(dir, photos, fields, wishes)
		head := 24 + 32*len(fields)
		for range 1 + random.IntN(3) {
			switch at := random.IntN(len(data)); random.IntN(3) {
			case 0:
				data[at] ^= 1 << random.IntN(8)
			case 1:
				data[min(at, head)%head] = byte(random.Uint32())
			default:
				data = data[:max(1, len(data)-random.IntN(40))]
			}
		}
		if takesLong(data) {
			continue
		}
		if err := r.run.SubmitRecipes(data, 16, nil, 0); err != nil {
			require.ErrorIs(t, err, recipe.ErrWire)
			continue
		}
		accepted++
		for done := false; !done; {
			lease, ask, err := r.next()
			done = err != nil || ask.Kind == 0
			if ask.Kind != 0 {
				require.NoError(t, second(r.run.Reject()))
				done = true
			} else if err == nil {
				lease.Slot.Release()
			}
		}
	}
	t.Logf("%d accepted", accepted)
}
