package pipeline_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// maskOf is a PNG with a palette whose indices are the red of rgb.
func maskOf(s recipe.Size, rgb []byte) []byte {
	palette := make(color.Palette, 256)
	for i := range palette {
		palette[i] = color.RGBA{R: byte(7 * i), G: byte(i), B: 9, A: 255}
	}
	m := image.NewPaletted(image.Rect(0, 0, int(s.Width), int(s.Height)), palette)
	for i := range m.Pix {
		m.Pix[i] = rgb[3*i]
	}
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// makePairs makes images, and behind each a mask that holds its red. Some only Pillow reads; of those with a kind of bad,
// the image or the mask is none.
func makePairs(n int, seed uint64, kindsOf ...string) []photo {
	random := rand.New(rand.NewPCG(seed, 2))
	var all []photo
	for i, p := range makePhotos(n, seed, kindsOf...) {
		mask := photo{name: p.name + " mask", size: p.size, broken: p.broken && i%2 == 0}
		if p.broken {
			p = kinds["png"](size(20, 20), random)
			p.name, p.broken, mask.size = fmt.Sprintf("%03d broken", i), !mask.broken, p.size
			if p.broken {
				p.file = cut(p.file)
			}
		}
		for i := 0; i < len(p.rgb); i += 3 {
			mask.rgb = append(mask.rgb, p.rgb[i])
		}
		mask.file = maskOf(mask.size, p.rgb)
		switch {
		case mask.broken:
			mask.file = cut(mask.file)
		case i%5 == 3: // Pillow's matter: with a header, and without
			mask.file = cut(mask.file)
		case i%7 == 3:
			mask.file = []byte("a mask that only Pillow knows")
		}
		all = append(all, p, mask)
	}
	return all
}

// pairing crops and flips image and mask alike; both are stored as they are.
func pairing(n int, draws plan.Draws) *plan.Plan {
	transforms := []plan.Transform{
		plan.RandomVerticalFlip{P: 0.5},
		plan.RandomCrop{
			Size: plan.HeightWidth{Height: 12, Width: 14}, Fill: []uint8{0}, PaddingMode: plan.Constant, API: plan.V2,
		},
		plan.RandomHorizontalFlip{P: 0.5},
	}
	p := newPlan(bytes3, plan.Part{Count: int64(n), Table: byteTable(), Transforms: transforms, Target: &plan.Target{
		Mode: plan.Palette, Draws: draws, Table: identity[:256], Transforms: transforms,
	}})
	p.Source.Kind = plan.Pairs
	p.Target = plan.Output{DType: tensor.Uint8, Channels: 1}
	return p
}

// pairs are the fields of a batch, or where it ended.
type pairs struct {
	images, masks []byte
	broken        int // sample, from 1
}

// take answers questions until a batch of pairs has ended.
func (r *rig) take() pairs {
	r.t.Helper()
	for {
		lease, ask, err := r.next()
		require.NoError(r.t, err)
		if ask.Kind == 0 {
			all := lease.Slot.Bytes()
			field := func(k int) []byte {
				f := lease.Fields[k]
				return bytes.Clone(all[f.Offset : f.Offset+f.Spec.Bytes()])
			}
			require.Len(r.t, lease.Fields, 2)
			n := lease.Fields[0].Spec.Shape[0]
			require.Equal(r.t, tensor.Shape{n, 1, 12, 14}, lease.Fields[1].Spec.Shape)
			took := pairs{images: field(0), masks: field(1)}
			lease.Slot.Release()
			return took
		}
		if ended, o := r.answer(ask); ended {
			return pairs{broken: 1 + o.position}
		}
	}
}

func (r *rig) pairsOf(batches [][]int64, ahead int) (all []pairs) {
	r.t.Helper()
	for k := 0; len(all) < len(batches); {
		for ; k < len(batches) && k < len(all)+ahead; k++ {
			r.submit(batches[k]...)
		}
		all = append(all, r.take())
	}
	return all
}

// What is drawn together is done alike to both, whatever the tuning, and whoever decodes the files.
func TestPairsThatDrawTogetherStayTogether(t *testing.T) {
	const n = 30
	for name, kindsOf := range map[string][]string{
		"sound": mixed(good), "asked": mixed(good, asked), "broken": mixed(good, good, good, bad),
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			random := logSeed(t)
			all := makePairs(n, 1, kindsOf...)
			for _, draws := range []plan.Draws{plan.Together, plan.Apart} {
				p := pairing(n, draws)
				l := openLoader(t, p, store(t, all))
				require.Equal(t, n, l.Len())
				batches := randomBatches(random, n, 12, 6)
				for k := range batches {
					batches[k] = append(batches[k], int64(random.IntN(n)))
				}
				seed := random.Uint64()
				var want []pairs
				for range 4 {
					o := pipeline.Options{
						Workers: 1 + random.IntN(5), Streams: 2, BaseSeed: seed, Span: random.IntN(9), Poison: random.IntN(2) == 0,
						SlowSource: random.IntN(3) == 0, ReadAhead: random.IntN(3) * 1000,
					}
					r := start(t, l, p, all, o)
					got := r.pairsOf(batches, 1+random.IntN(len(batches)))
					r.close()
					if want == nil {
						want = got
					}
					require.Equal(t, want, got, "%+v", o)
				}
				if name == "broken" {
					continue
				}
				const area = 12 * 14
				equal := true
				for _, b := range want {
					for i := range len(b.masks) / area {
						equal = equal && bytes.Equal(b.images[3*area*i:3*area*i+area], b.masks[area*i:area*i+area])
					}
				}
				require.Equal(t, draws == plan.Together, equal)
			}
		})
	}
}

func TestAPairIsTwoFiles(t *testing.T) {
	leakcheck.Check(t)
	files := store(t, makePhotos(5, 1, "png"))
	_, err := pipeline.Open(pairing(2, plan.Apart), files)
	require.ErrorContains(t, err, "5 files, 2 a sample")
	files.Close()
}

// A recipe may take a palette's indices, also where Pillow has to be asked for them, and the colours of the same file.
func TestRecipesTakeIndicesOrColours(t *testing.T) {
	all := makePairs(30, 5, "png")
	r, dir := recipeRig(t, all, pipeline.Options{Workers: 2, Streams: 1})
	crop := []recipe.Step{{Kind: recipe.Crop, Left: 2, Top: 3, Width: 12, Height: 11}, {Kind: recipe.HorizontalFlip}}
	indices := recipe.Field{DType: tensor.Uint8, Channels: 1, Size: size(12, 11), Table: identity[:256]}
	colours := recipe.Field{DType: tensor.Uint8, Channels: 3, Size: size(12, 11), Table: identity}
	wishes := make([][]wish, 2)
	for i := 1; i < len(all); i += 2 {
		if len(all[i].file) > 40 && all[i].file[1] == 'P' {
			wishes[0] = append(wishes[0], wish{photo: i, mode: recipe.Palette, steps: crop})
		}
		if i/2%5 != 3 && i/2%7 != 3 { // neither damaged nor strange
			wishes[1] = append(wishes[1], wish{photo: i, steps: crop})
		}
	}
	indices.Count, colours.Count = len(wishes[0]), len(wishes[1])
	require.NoError(t, r.run.SubmitRecipes(message(dir, all, []recipe.Field{indices, colours}, wishes), 16, nil, 0))
	lease := r.deliverAnswering()
	defer lease.Slot.Release()
	const area = 12 * 11
	for k, plane := range map[int]func(byte) byte{
		0: func(i byte) byte { return i },
		1: func(i byte) byte { return 7 * i }, // the palette's red
	} {
		got := lease.Slot.Bytes()[lease.Fields[k].Offset:]
		for place, w := range wishes[k] {
			p := all[w.photo]
			for y := range 11 {
				for x := range 12 {
					index := p.rgb[(y+3)*int(p.size.Width)+2+11-x]
					require.Equal(t, plane(index), got[(1+2*k)*area*place+12*y+x], "field %d, %s at %d, %d", k, p.name, x, y)
				}
			}
		}
	}
	data := message(dir, all, []recipe.Field{indices, colours}, wishes)
	require.ErrorIs(t, r.run.SubmitRecipes(spoilMode(data), 16, nil, 0), recipe.ErrWire)
}

// deliverAnswering answers questions until there is a batch.
func (r *rig) deliverAnswering() pipeline.Lease {
	r.t.Helper()
	for {
		lease, ask, err := r.next()
		require.NoError(r.t, err)
		if ask.Kind == 0 {
			return lease
		}
		p := r.photos[1]
		for _, each := range r.photos { // by what it is asked about
			if strings.Contains(ask.Reason, each.name) {
				p = each
			}
		}
		require.NoError(r.t, r.run.Supply(p.rgb, p.size))
	}
}

// spoilMode is a message whose first source is of no known mode.
func spoilMode(data []byte) []byte {
	const header, field = 6 * 4, 8 * 4
	spoiled := bytes.Clone(data)
	spoiled[header+2*field] = 16 * 3
	return spoiled
}
