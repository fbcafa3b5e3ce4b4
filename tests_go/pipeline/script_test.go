package pipeline_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// scripted is the plan of samples that draw from all three generators and from two of the user's objects: numpy's says which
// file they open, the others' are among their numbers, and a sample for which Python's is small is left to the caller.
// With seeds it then seeds Python's and torch's, by the file's number, and puts torch's into the state before that again.
func scripted(t *testing.T, samples, files int, apart, seeds, followed bool) *plan.Plan {
	t.Helper()
	table := make([]byte, 0, 3*256)
	for range 3 {
		for v := range 256 {
			table = append(table, byte(v))
		}
	}
	seeding := ""
	if seeds {
		seeding = `, {"do": "save", "generator": "torch", "slot": 0}, {"do": "seed", "generator": "torch", "value": ["number", 0]},
			{"do": "seed", "generator": "python", "value": ["number", 0]}, {"do": "restore", "generator": "torch", "slot": 0}`
	}
	p, err := plan.Parse(fmt.Appendf(nil, `{"version": 1, "source": {"kind": "script"}, "output": null, "parts": [{"count": %d, "script": {
		"files": [%d], "images": 1, "numbers": ["int", "float", "float", "float", "int"], "vectors": [], "tables": [], "generators": 2,
		"slots": 1, "noises": 0, "apart": %v, "followed": %v,
		"opens": [{"list": 0, "row": ["number", 0], "mode": "RGB", "plain": false, "reader": ""}],
		"first": [{"do": "let", "number": 0, "value": ["numpy.randint", %d]}],
		"body": [{"do": "let", "number": 1, "value": ["torch.rand"]}, {"do": "let", "number": 2, "value": ["python.random"]},
		{"do": "let", "number": 3, "value": ["own.random", 0]}, {"do": "let", "number": 4, "value": ["own.randbelow", 1, 1000]},
		{"do": "if", "condition": ["<", ["number", 2], %v], "then": [{"do": "fail"}], "else": []}%s],
		"gives": [{"image": 0, "file": 0, "output": {"dtype": "uint8", "channels": 3}, "table": "%s", "looks": null}], "columns": [0, 1, 2, 3, 4]}}],
		"rng": {"fma": true, "correctly_rounded_exp": false}, "seek_index": {"bytes_max": 1000000, "path": null},
		"pillow": {"pass_order": "shrink_first", "max_pixels": %d, "decoders": []}}`,
		samples, files, apart, followed, files, leftBelow, seeding, base64.StdEncoding.EncodeToString(table), maxPixels))
	require.NoError(t, err)
	return p
}

const leftBelow = 0.02

// worker is what one of torch's would-be workers draws from.
type worker [5]rng.MT19937

const statesBytes = len(worker{}) * rng.TorchStateBytes

func (w *worker) states(t *testing.T) []byte {
	t.Helper()
	states := make([]byte, statesBytes)
	for k := range w {
		require.NoError(t, w[k].StoreTorch(states[k*rng.TorchStateBytes:(k+1)*rng.TorchStateBytes]))
	}
	return states
}

// numbers are those of the next batch's samples, and whether the script makes it.
func (w *worker) numbers(samples, files int, seeds bool) (all []uint64, made bool) {
	made = true
	for range samples {
		row, first, second := w[2].NumPyBelow(uint64(files)), w[0].Rand(), w[1].Random()
		all = append(all, row, math.Float64bits(float64(first)), math.Float64bits(second))
		all = append(all, math.Float64bits(w[3].Random()), w[4].PythonBelow(1000))
		made = made && second >= leftBelow
		if seeds {
			w[1].SeedPython(row)
		}
	}
	return all, made
}

// Workers draw for one batch while the caller submits the next, which draws what files it opens. Every sample has the numbers
// that a user's own code would have drawn, also behind batches that this code has made itself, and behind a size that was wrong,
// and where the caller draws between batches.
// Where images may differ in size, those of a batch lie one after the other.
func TestScriptsDrawAsOneWorkerAfterTheOther(t *testing.T) {
	random := logSeed(t)
	const samples, files = 60, 24
	photos := make([]photo, files)
	skipped, supplied := 0, 0
	for k := range 16 {
		apart, seeds, followed := k%2 == 1, k%4 > 1, k%8 > 3
		for i := range photos {
			kind, of := []string{"png", "png", "jpeg", "png", "liar", "cut png"}[i%6], size(20, 17)
			if apart {
				of = size(1+random.IntN(30), 1+random.IntN(30))
			}
			photos[i] = kinds[kind](of, random)
			photos[i].name = fmt.Sprintf("%d %s", i, kind)
		}
		p := scripted(t, samples, files, apart, seeds, followed)
		o := pipeline.Options{Workers: 1 + random.IntN(4), Streams: 1 + random.IntN(3), Span: random.IntN(6)}
		leakcheck.Check(t)
		l := openLoader(t, p, store(t, photos))
		r := start(t, l, p, photos, o)
		workers, began := make([]worker, o.Streams), make([]worker, o.Streams)
		for w := range workers {
			for k := range workers[w] {
				workers[w][k] = rng.New(random.Uint64N(1 << 32))
			}
			began[w] = workers[w]
			require.NoError(t, r.run.LoadStates(w, workers[w].states(t)))
		}
		follow := func(stream int, states []byte) {
			if followed {
				require.NoError(t, second(r.run.Follow(stream, states, random.IntN(2) == 0)))
			}
		}
		follow(0, nil)
		batches := randomBatches(random, samples, 30, 12)
		ahead := 1 + random.IntN(9)
		for k, submitted := 0, 0; k < len(batches); {
			for ; submitted < len(batches) && submitted < k+ahead; submitted++ {
				r.submit(batches[submitted]...)
			}
			stream := k % o.Streams
			w := &workers[stream]
			before := *w
			numbers, made := w.numbers(len(batches[k]), files, seeds)
			lease, ask, err := r.next()
			require.NoError(t, err)
			for ; ask.Kind == pipeline.AskPixels && (made || random.IntN(2) == 0); supplied++ {
				about := photos[ask.Index]
				require.NoError(t, r.run.Supply(about.rgb, about.size))
				lease, ask, err = r.next()
				require.NoError(t, err)
			}
			k++
			if ask.Kind != 0 { // the caller's own code makes the batch
				require.False(t, made)
				states := make([]byte, statesBytes)
				require.NoError(t, r.run.AskedStates(states))
				requireSameNumbers(t, random, before, states)
				require.NoError(t, second(r.run.Skip(w.states(t))))
				skipped++
			} else {
				require.True(t, made)
				requireScripted(t, photos, numbers, lease, apart)
			}
			var states []byte
			if followed && random.IntN(3) > 0 {
				w[random.IntN(len(w))].Discard(1 + random.Int64N(700))
				states = w.states(t)
			}
			follow(stream, states)
		}
		position := make([]int64, r.run.Positions())
		require.NoError(t, r.run.Position(position))
		if seeds || followed {
			requireStates(t, l, o, workers, position)
			workers = nil
		}
		for w := range workers {
			for k := range workers[w] {
				require.Equal(t, workers[w][k].Since(began[w][k], 1<<20), position[len(worker{})*w+k], "generator %d of stream %d", k, w)
			}
		}
		require.NoError(t, r.run.Close())
	}
	require.Positive(t, skipped)
	require.Positive(t, supplied)
}

// An image without a pixel that its code looks for is left to that code; so is one that OpenCV may turn.
func TestScriptsLeaveImagesThatTheCodeTakesOtherwise(t *testing.T) {
	random := logSeed(t)
	table, looks := make([]byte, 0, 3*256), make([]byte, 3*256)
	for range 3 {
		for v := range 256 {
			table = append(table, byte(v))
		}
	}
	looks[256+200] = 1 // 200 of green
	s := size(9, 7)
	without, with := make([]byte, 3*9*7), make([]byte, 3*9*7)
	without[0], with[3*9*7-2] = 200, 200
	photos := []photo{
		{name: "a", file: pngOf(s, without), size: s, rgb: without}, {name: "b", file: pngOf(s, with), size: s, rgb: with},
		{name: "c", file: append(pngOf(s, with), "eXIf"...), size: s, rgb: with},
	}
	p, err := plan.Parse(fmt.Appendf(nil, `{"version": 1, "source": {"kind": "script"}, "output": null, "parts": [{"count": 3, "script": {
		"files": [3], "images": 1, "numbers": [], "vectors": [], "tables": [], "generators": 2, "slots": 0, "noises": 0, "apart": false, "followed": false, "first": [], "body": [],
		"opens": [{"list": 0, "row": ["index"], "mode": "RGB", "plain": false, "reader": "opencv"}],
		"gives": [{"image": 0, "file": 0, "output": {"dtype": "uint8", "channels": 3}, "table": "%s", "looks": "%s"}], "columns": []}}],
		"rng": {"fma": true, "correctly_rounded_exp": false}, "seek_index": null,
		"pillow": {"pass_order": "shrink_first", "max_pixels": %d, "decoders": []}}`,
		base64.StdEncoding.EncodeToString(table), base64.StdEncoding.EncodeToString(looks), maxPixels))
	require.NoError(t, err)
	r := newRig(t, p, photos, pipeline.Options{Workers: 2, Streams: 1, Span: random.IntN(3)})
	require.NoError(t, r.run.LoadStates(0, (&worker{rng.New(1), rng.New(2), rng.New(3), rng.New(4), rng.New(5)}).states(t)))
	for range 20 {
		indices := []int64{random.Int64N(3), random.Int64N(3)}
		r.submit(indices...)
		lease, ask, err := r.next()
		require.NoError(t, err)
		if indices[0] == 1 && indices[1] == 1 {
			require.Zero(t, ask.Kind)
			lease.Slot.Release()
			continue
		}
		require.Equal(t, pipeline.AskBatch, ask.Kind)
		states := make([]byte, statesBytes)
		require.NoError(t, r.run.AskedStates(states))
		require.NoError(t, second(r.run.Skip(states)))
	}
	require.NoError(t, r.run.Close())
}

// requireStates says that positions are the states in which workers stand, and that another run goes on from there.
func requireStates(t *testing.T, l *pipeline.Loader, o pipeline.Options, workers []worker, position []int64) {
	t.Helper()
	again := make([]int64, len(position))
	run, err := l.Start(o)
	require.NoError(t, err)
	require.NoError(t, run.Resume(3, position))
	require.NoError(t, run.Position(again))
	require.Equal(t, position, again)
	require.NoError(t, run.Close())
	each := len(position) / len(workers)
	for w := range workers {
		var states []byte
		for _, word := range position[w*each : (w+1)*each] {
			states = binary.LittleEndian.AppendUint64(states, uint64(word))
		}
		if !bytes.Equal(states, make([]byte, len(states))) { // nothing was asked of it
			requireSameNumbers(t, rand.New(rand.NewPCG(1, 2)), workers[w], states)
		}
	}
}

// requireSameNumbers compares generators by what they draw.
func requireSameNumbers(t *testing.T, random *rand.Rand, want worker, states []byte) {
	t.Helper()
	for k := range want {
		var got rng.MT19937
		require.NoError(t, got.LoadTorch(states[k*rng.TorchStateBytes:(k+1)*rng.TorchStateBytes]))
		for range 1 + random.IntN(700) {
			require.Equal(t, want[k].Uint32(), got.Uint32(), "generator %d", k)
		}
	}
}

// requireScripted compares a batch, and releases it.
func requireScripted(t *testing.T, photos []photo, numbers []uint64, lease pipeline.Lease, apart bool) {
	t.Helper()
	if !lease.Slot.Valid() {
		require.Empty(t, numbers)
		return
	}
	defer lease.Slot.Release()
	const each = len(worker{})
	all, n := lease.Slot.Bytes(), len(numbers)/each
	fields := 1 + each
	if apart {
		fields++
	}
	require.Len(t, lease.Fields, fields)
	begin := lease.Fields[0].Offset
	for i := range n {
		for c := range each {
			require.Equal(t, numbers[each*i+c], binary.LittleEndian.Uint64(all[lease.Fields[1+c].Offset+8*i:]), "number %d of sample %d", c, i)
		}
		about := photos[numbers[each*i]]
		pixels := int(about.size.Width) * int(about.size.Height)
		made := all[begin:]
		begin += 3 * pixels
		if apart {
			extents := all[lease.Fields[1+each].Offset+16*i:]
			require.EqualValues(t, about.size.Height, binary.LittleEndian.Uint64(extents))
			require.EqualValues(t, about.size.Width, binary.LittleEndian.Uint64(extents[8:]))
		}
		for c := range 3 {
			for at := range pixels {
				require.Equal(t, about.rgb[3*at+c], made[c*pixels+at], "sample %d", i)
			}
		}
	}
}
