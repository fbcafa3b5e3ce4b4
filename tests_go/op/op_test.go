package op_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
)

// rig is a worker with room for jobs; it closes itself and checks that nothing is left.
type rig struct {
	t      testing.TB
	worker *op.Worker
	jobs   *op.Jobs
	pins   runtime.Pinner
}

func newRig(t testing.TB, order op.PassOrder, n int) *rig {
	t.Helper()
	worker, err := op.OpenWorker(order)
	require.NoError(t, err)
	jobs, err := op.NewJobs(n)
	require.NoError(t, err)
	r := &rig{t: t, worker: worker, jobs: jobs}
	t.Cleanup(func() {
		r.pins.Unpin()
		jobs.Close()
		worker.Close()
		require.Zero(t, op.LiveBytes())
	})
	return r
}

// address pins Go memory for C.
func (r *rig) address(b []byte) unsafe.Pointer {
	r.pins.Pin(&b[0])
	return unsafe.Pointer(&b[0])
}

func (r *rig) store(channels, itemsize int, table []byte) *op.Store {
	r.t.Helper()
	store, err := op.NewStore(channels, itemsize, table)
	require.NoError(r.t, err)
	r.t.Cleanup(store.Close)
	return store
}

// identity stores pixels as they are.
func (r *rig) identity(channels int) *op.Store {
	table := make([]byte, channels*256)
	for i := range table {
		table[i] = byte(i)
	}
	return r.store(channels, 1, table)
}

// set makes job i take pixels through passes to a new sample of size bytes.
func (r *rig) set(i int, pixels picture, passes []op.Pass, size int, store *op.Store) []byte {
	raw, sample := pixels.interleaved(), make([]byte, size)
	r.jobs.SetRaw(i, op.Interleaved, r.address(raw), len(raw), pixels.size)
	r.jobs.SetPasses(i, passes)
	r.jobs.SetSample(i, r.address(sample), len(sample), store)
	return sample
}

func between(rng *rand.Rand, low, high int32) int32 { return low + rng.Int32N(high-low+1) }

func side(rng *rand.Rand) int32 { return between(rng, 1, []int32{3, 20, 90, 260}[rng.IntN(4)]) }

// filter is one of Pillow's, or torch's nearest neighbour.
func filter(rng *rand.Rand) recipe.Filter {
	if f := recipe.Filter(rng.IntN(7)); f <= recipe.Hamming {
		return f
	}
	return recipe.TorchNearest
}

// randomSteps is a chain as a recipe might hold it, and the picture it makes.
func randomSteps(rng *rand.Rand, p picture, order op.PassOrder) ([]recipe.Step, picture) {
	steps := make([]recipe.Step, 1+rng.IntN(6))
	for i := range steps {
		w, h := p.size.Width, p.size.Height
		s := recipe.Step{Kind: recipe.Kind(rng.IntN(recipe.Wired))}
		if s.Kind == recipe.Patch || s.Kind == recipe.TorchColour || s.Kind == recipe.Zoom {
			// Patches come behind all other steps, and zooms make numbers; these and torch's colours are compared with their
			// libraries in tests_py/kernels.
			s.Kind = recipe.HorizontalFlip
		}
		switch s.Kind {
		case recipe.Crop:
			s.Width, s.Height = between(rng, 1, w), between(rng, 1, h)
			s.Left, s.Top = between(rng, 0, w-s.Width), between(rng, 0, h-s.Height)
		case recipe.Resize:
			s.Width, s.Height, s.Filter = side(rng), side(rng), filter(rng)
			if rng.IntN(4) == 0 {
				s.Width = w
			}
		case recipe.Pad:
			s.Mode = recipe.PadMode(rng.IntN(4))
			s.Left, s.Top, s.Right, s.Bottom = between(rng, 0, 9), between(rng, 0, 9), between(rng, 0, 9), between(rng, 0, 9)
			s.Fill = [3]uint8{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}
		case recipe.Grayscale, recipe.OpenCVGray:
			s.Channels = uint8(1 + 2*rng.IntN(2))
		case recipe.Select:
			s.Channels = uint8(1 + 2*rng.IntN(2))
			for c := range s.Channels {
				s.Fill[c] = uint8(rng.IntN(len(p.planes)))
			}
		case recipe.Lookup:
			s.Table = &[3 * 256]byte{}
			for i := range s.Table {
				s.Table[i] = byte(rng.Uint32())
			}
		case recipe.Brightness, recipe.Contrast, recipe.Saturation, recipe.Sharpness:
			s.Factor = []float32{0, 1, float32(rng.Float64() * 2), float32(rng.Float64()*4 - 1)}[rng.IntN(4)]
		case recipe.Hue:
			s.Shift = byte(rng.Uint32())
		case recipe.Rank:
			s.Shift = uint8(rng.IntN(9))
		case recipe.BoxBlur:
			s.Radius = [2]float32{[]float32{0, 1, rng.Float32(), 50 * rng.Float32()}[rng.IntN(4)], 60 * rng.Float32()}
			s.Times = uint32(1 + rng.IntN(4))
		case recipe.Stencil:
			s.Width, s.Factor, s.Weights = 3+2*rng.Int32N(2), 20*rng.Float32(), new([2][recipe.TapsMax]float32)
			for k := range s.Width * s.Width {
				s.Weights[0][k] = rng.Float32() - 0.4
			}
		case recipe.Convolve, recipe.ConvolveUnit:
			s.Width, s.Height = 1+2*rng.Int32N(min(4, w)), 1+2*rng.Int32N(min(4, h))
			s.Weights = new([2][recipe.TapsMax]float32)
			for axis, n := range [2]int32{s.Width, s.Height} {
				for k := range n {
					s.Weights[axis][k] = 1.0/16 + 3*rng.Float32()/float32(n)/4
				}
			}
		case recipe.Affine, recipe.Perspective:
			s.Width, s.Height, s.Filter = w, h, []recipe.Filter{recipe.Nearest, recipe.Bilinear, recipe.Bicubic}[rng.IntN(3)]
			if rng.IntN(4) == 0 {
				s.Width, s.Height = side(rng), side(rng)
			}
			s.Fill = [3]uint8{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}
			s.Matrix = [8]float64{1 + rng.NormFloat64()/3, rng.NormFloat64() / 2, rng.NormFloat64() * 9,
				rng.NormFloat64() / 2, 1 + rng.NormFloat64()/3, rng.NormFloat64() * 9}
			if rng.IntN(3) == 0 {
				s.Matrix[1], s.Matrix[3] = 0, 0
			}
			if s.Kind == recipe.Perspective {
				s.Matrix[6], s.Matrix[7] = rng.NormFloat64()/1e3, rng.NormFloat64()/1e3
			}
		case recipe.TorchAffine, recipe.TorchPerspective:
			s.Filter = []recipe.Filter{recipe.Nearest, recipe.Bilinear}[rng.IntN(2)]
			s.Outside, s.Fused, s.FusedGrid = recipe.Outside(rng.IntN(3)), rng.IntN(2) == 0, rng.IntN(2) == 0
			s.Fill = [3]uint8{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}
			s.Matrix = [8]float64{1 + rng.NormFloat64()/3, rng.NormFloat64() / 2, rng.NormFloat64() * 9,
				rng.NormFloat64() / 2, 1 + rng.NormFloat64()/3, rng.NormFloat64() * 9}
			if s.Kind == recipe.TorchPerspective {
				s.Matrix[6], s.Matrix[7] = rng.NormFloat64()/1e3, rng.NormFloat64()/1e3
			}
			if rng.IntN(9) == 0 { // far away
				s.Matrix[rng.IntN(6)] *= 1e30
			}
		}
		steps[i] = s
		p = p.apply(s, order)
	}
	return steps, p
}

// What Fuse makes of a recipe gives the bytes of its steps done one by one.
func TestFusedPassesEqualStepsOneByOne(t *testing.T) {
	for _, order := range []op.PassOrder{op.HorizontalFirst, op.TallFirst, op.ShrinkFirst} {
		t.Run(fmt.Sprint("order ", order), func(t *testing.T) { fusedPassesEqualSteps(t, order) })
	}
}

func fusedPassesEqualSteps(t *testing.T, order op.PassOrder) {
	rng := rand.New(rand.NewPCG(1, uint64(order)))
	r := newRig(t, order, 1)
	stores := map[int]*op.Store{1: r.identity(1), 3: r.identity(3)}
	for range 150 {
		start := noise(rng, recipe.Size{Width: side(rng), Height: side(rng)})
		if rng.IntN(10) == 0 {
			start = noise(rng, recipe.Size{Width: between(rng, 1, 2), Height: between(rng, 100, 300)})
		}
		steps, want := randomSteps(rng, start, order)
		passes, size, err := op.Fuse(nil, start.size, steps)
		require.NoError(t, err)
		require.Equal(t, want.size, size)
		joined := bytes.Join(want.planes, nil)
		store := stores[len(want.planes)]
		got := r.set(0, start, passes, len(joined), store)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
		require.True(t, bytes.Equal(joined, got), "image %v\nsteps %+v\npasses %+v", start.size, steps, passes)
		store.SetOrder(recipe.ChannelsLast)
		r.worker.Run(r.jobs, 1, nil)
		store.SetOrder(recipe.ChannelsFirst)
		require.True(t, bytes.Equal(want.interleaved(), got), "steps %+v, channels last", steps)
	}
}

// Patches go by tables of their own, the last one where they overlap, whatever the size and the order of the items.
func TestPatchesGoByTheirOwnTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	r := newRig(t, op.ShrinkFirst, 1)
	for range 60 {
		const tables = 3
		itemsize := 1 << rng.IntN(4)
		items := make([]byte, tables*3*256*itemsize)
		for i := range items {
			items[i] = byte(rng.Uint32())
		}
		store := r.store(3, itemsize, items)
		start := noise(rng, recipe.Size{Width: side(rng), Height: side(rng)})
		steps, _ := randomSteps(rng, start, op.ShrinkFirst)
		steps = append(steps, recipe.Step{Kind: recipe.Grayscale, Channels: 3})
		passes, size, err := op.Fuse(nil, start.size, steps)
		require.NoError(t, err)
		plain := r.set(0, start, passes, 3*int(size.Pixels()), r.identity(3))
		r.jobs.SetPatches(0, nil)
		r.worker.Run(r.jobs, 1, nil)
		number := make([]int32, size.Pixels())
		patches := make([]recipe.Step, rng.IntN(op.PatchesMax+1))
		for i := range patches {
			p := recipe.Step{Kind: recipe.Patch, Width: between(rng, 1, size.Width), Height: between(rng, 1, size.Height), Number: rng.Int32N(tables)}
			p.Left, p.Top = between(rng, 0, size.Width-p.Width), between(rng, 0, size.Height-p.Height)
			patches[i] = p
			for y := p.Top; y < p.Top+p.Height; y++ {
				for x := p.Left; x < p.Left+p.Width; x++ {
					number[y*size.Width+x] = p.Number
				}
			}
		}
		got := r.set(0, start, passes, 3*int(size.Pixels())*itemsize, store)
		r.jobs.SetPatches(0, patches)
		for _, order := range []recipe.Order{recipe.ChannelsFirst, recipe.ChannelsLast} {
			store.SetOrder(order)
			r.worker.Run(r.jobs, 1, nil)
			require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
			for i, v := range plain {
				channel, pixel := i/len(number), i%len(number)
				at, entry := i, ((int(number[pixel])*3+channel)*256+int(v))*itemsize
				if order == recipe.ChannelsLast {
					at = 3*pixel + channel
				}
				require.Equal(t, items[entry:entry+itemsize], got[at*itemsize:(at+1)*itemsize], "patches %+v", patches)
			}
		}
	}
}

// Every set of kernels gives the same bytes: the law above holds in a process that may use only one.
func TestEveryKernelSetObeysTheSameLaws(t *testing.T) {
	if os.Getenv("GOLOADER_KERNELS") != "" {
		t.Skip("this is such a process")
	}
	names := map[string][]string{"amd64": {"plain", "avx2"}, "arm64": {"plain", "neon"}}[runtime.GOARCH]
	for _, name := range names {
		if name == op.Kernels() {
			continue // the tests here use it
		}
		command := exec.Command(os.Args[0], "-test.run", "TestFused|TestTablesAreLookedUp|TestKernelsAsAsked")
		command.Env = append(os.Environ(), "GOLOADER_KERNELS="+name)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
}

func TestKernelsAsAsked(t *testing.T) {
	asked := os.Getenv("GOLOADER_KERNELS")
	if asked == "" {
		t.Skip("none asked for")
	}
	if asked == "plain" {
		require.Equal(t, asked, op.Kernels())
	}
	require.Contains(t, []string{"avx512", "avx2", "neon", "plain"}, op.Kernels())
}

// A table may hold anything; each channel has its own, and a second store in the same worker takes effect.
func TestTablesAreLookedUpByChannel(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	rng := rand.New(rand.NewPCG(2, 3))
	start := noise(rng, recipe.Size{Width: 301, Height: 97})
	passes, _, err := op.Fuse(nil, start.size, nil)
	require.NoError(t, err)
	for _, itemsize := range []int{1, 2, 4, 8, 4, 1} {
		table := make([]byte, 3*256*itemsize)
		for i := range table {
			table[i] = byte(rng.Uint32())
		}
		pixels := len(start.planes[0])
		store := r.store(3, itemsize, table)
		got := r.set(0, start, passes, 3*pixels*itemsize, store)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
		planar, interleaved := make([]byte, len(got)), make([]byte, len(got))
		for c, plane := range start.planes {
			for i, value := range plane {
				at := (c*256 + int(value)) * itemsize
				copy(planar[(c*pixels+i)*itemsize:], table[at:at+itemsize])
				copy(interleaved[(i*3+c)*itemsize:], table[at:at+itemsize])
			}
		}
		require.True(t, bytes.Equal(planar, got), "items of %d bytes", itemsize)
		store.SetOrder(recipe.ChannelsLast)
		r.worker.Run(r.jobs, 1, nil)
		require.True(t, bytes.Equal(interleaved, got), "items of %d bytes, channels last", itemsize)
	}
}

// Tables are cached in a ring that overwrites its oldest: sizes enough to overwrite it many times change nothing.
func TestTablesOverwrittenAreMadeAgain(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	rng := rand.New(rand.NewPCG(4, 5))
	store := r.identity(3)
	bytesMost := 0
	for range 3000 {
		start := blank(recipe.Size{Width: between(rng, 1, 700), Height: between(rng, 1, 3)}, 3)
		start.planes[1][0] = 200
		steps := []recipe.Step{{Kind: recipe.Resize, Filter: recipe.Lanczos, Width: between(rng, 200, 260), Height: 1}}
		passes, size, err := op.Fuse(nil, start.size, steps)
		require.NoError(t, err)
		got := r.set(0, start, passes, 3*int(size.Width), store)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
		want := start.apply(steps[0], op.ShrinkFirst)
		require.Equal(t, bytes.Join(want.planes, nil), got, "%v to %v", start.size, size)
		bytesMost = max(bytesMost, r.worker.Bytes())
	}
	require.Less(t, bytesMost, 6<<20)
}

// What one image of an unusual size took goes back after its run: the axis alone has 70 MB of weights.
func TestAHugeAxisIsNotKept(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	start := blank(recipe.Size{Width: 2 << 20, Height: 1}, 3)
	const width = 1 << 20
	passes, _, err := op.Fuse(nil, start.size, []recipe.Step{{Kind: recipe.Resize, Filter: recipe.Lanczos, Width: width, Height: 1}})
	require.NoError(t, err)
	r.set(0, start, passes, 3*width, r.identity(3))
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
	require.Less(t, r.worker.Bytes(), 100<<20)
}

func TestRunsStopWhenCancelled(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 3)
	start := blank(recipe.Size{Width: 4, Height: 4}, 3)
	passes, _, err := op.Fuse(nil, start.size, nil)
	require.NoError(t, err)
	store := r.identity(3)
	for i := range 3 {
		r.set(i, start, passes, 48, store)
	}
	cancel := int32(0)
	r.worker.Run(r.jobs, 2, &cancel)
	require.Equal(t, op.Decoded, r.jobs.Status(0))
	require.Equal(t, op.Decoded, r.jobs.Status(1))
	cancel = 1
	r.worker.Run(r.jobs, 3, &cancel)
	for i := range 3 {
		require.Equal(t, op.Cancelled, r.jobs.Status(i))
		require.Empty(t, r.jobs.Why(i))
	}
	r.worker.Run(r.jobs, 0, &cancel)
}

func TestBadJobsSayWhy(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	start := blank(recipe.Size{Width: 4, Height: 4}, 3)
	passes, _, err := op.Fuse(nil, start.size, nil)
	require.NoError(t, err)
	store := r.identity(3)
	r.set(0, start, passes, 47, store)
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
	require.Contains(t, r.jobs.Why(0), "another size than the sample")
	r.set(0, start, make([]op.Pass, op.PassesMax+1), 48, store)
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
	r.set(0, start, passes, 48, r.identity(1))
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
	for _, p := range []recipe.Step{{Width: 5, Height: 1}, {Left: -1, Width: 1, Height: 1}, {Width: 1, Height: 1, Number: 1}} {
		r.set(0, start, passes, 48, store)
		r.jobs.SetPatches(0, []recipe.Step{p})
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.BadJob, r.jobs.Status(0), "%+v", p)
	}
	r.jobs.SetPatches(0, make([]recipe.Step, op.PatchesMax+1))
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
	r.jobs.SetPatches(0, nil)
	zoom := op.Pass{Kind: op.Zoom, Width: 4, Height: 4, Out: op.Window{Width: 4, Height: 4}, Matrix: [8]float64{1}}
	r.set(0, start, []op.Pass{zoom}, 48, store)
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
	require.Contains(t, r.jobs.Why(0), "without a store")
	r.set(0, start, []op.Pass{zoom, passes[0]}, 8*48, r.store(3, 8, make([]byte, 3*256*8)))
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
	r.set(0, start, passes, 48, store)
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.Decoded, r.jobs.Status(0), "a good job after bad ones")
}

// A worker that has seen its largest image allocates nothing more, in C or in Go.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	start := noise(rand.New(rand.NewPCG(6, 7)), recipe.Size{Width: 120, Height: 90})
	steps := []recipe.Step{
		{Kind: recipe.Crop, Left: 3, Top: 4, Width: 100, Height: 80},
		{Kind: recipe.Resize, Filter: recipe.Bilinear, Width: 64, Height: 64},
		{Kind: recipe.HorizontalFlip},
	}
	passes := make([]op.Pass, 0, op.PassesMax)
	sample := r.set(0, start, nil, 3*64*64, r.identity(3))
	run := func() {
		var err error
		passes, _, err = op.Fuse(passes[:0], start.size, steps)
		require.NoError(t, err)
		r.jobs.SetPasses(0, passes)
		r.worker.Run(r.jobs, 1, nil)
	}
	run()
	require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
	require.NotZero(t, sample[0]|sample[1]|sample[2])
	held := r.worker.Bytes()
	require.Zero(t, testing.AllocsPerRun(20, run))
	require.Equal(t, held, r.worker.Bytes())
	require.Equal(t, held, op.LiveBytes())
}

func TestWhatCannotBeMadeIsAnError(t *testing.T) {
	_, err := op.OpenWorker(7)
	require.ErrorContains(t, err, "pass order")
	_, err = op.NewJobs(0)
	require.Error(t, err)
	_, err = op.NewStore(2, 4, make([]byte, 2048))
	require.ErrorContains(t, err, "2 channels")
	_, err = op.NewStore(3, 3, make([]byte, 2304))
	require.ErrorContains(t, err, "3 bytes")
	_, err = op.NewStore(1, 4, make([]byte, 1023))
	require.ErrorContains(t, err, "1023 bytes")
}

// floatTable is ToTensor and Normalize with ImageNet's numbers.
func floatTable() []byte {
	mean, std := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	table := make([]byte, 0, 3*256*4)
	for c := range 3 {
		for v := range 256 {
			table = binary.NativeEndian.AppendUint32(table, math.Float32bits((float32(v)/255-mean[c])/std[c]))
		}
	}
	return table
}

// BenchmarkRunRRC is RandomResizedCrop's mean crop, ToTensor and Normalize, from raw pixels into a fresh place each time;
// bytes are those of the sample.
func BenchmarkRunRRC(b *testing.B) {
	const slots = 64 // 38 MB of samples: more than the caches hold, like a batch
	r := newRig(b, op.ShrinkFirst, slots)
	start := noise(rand.New(rand.NewPCG(8, 9)), recipe.Size{Width: 276, Height: 269})
	store := r.store(3, 4, floatTable())
	steps := []recipe.Step{{Kind: recipe.Resize, Filter: recipe.Bilinear, Width: 224, Height: 224}, {Kind: recipe.HorizontalFlip}}
	passes, size, err := op.Fuse(nil, start.size, steps)
	require.NoError(b, err)
	bytes := 3 * 4 * int(size.Width) * int(size.Height)
	raw, samples := start.interleaved(), make([]byte, slots*bytes)
	for i := range slots {
		r.jobs.SetRaw(i, op.Interleaved, r.address(raw), len(raw), start.size)
		r.jobs.SetPasses(i, passes)
		r.jobs.SetSample(i, r.address(samples[i*bytes:]), bytes, store)
	}
	b.SetBytes(int64(bytes))
	for done := 0; done < b.N; done += slots {
		r.worker.Run(r.jobs, min(slots, b.N-done), nil)
	}
	require.Equal(b, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/image")
}
