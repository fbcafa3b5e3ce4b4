package pipeline_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// album is one photo of each kind, in this order.
func album(kindsOf ...string) []photo { return makePhotos(len(kindsOf), 11, kindsOf...) }

// againstModel runs batches and holds what becomes of them against the model. Once a test: a run that is open may still
// take memory while the next one's is counted.
func againstModel(t *testing.T, p *plan.Plan, photos []photo, o pipeline.Options, batches ...[]int64) *rig {
	t.Helper()
	r := newRig(t, p, photos, o)
	m := newModel(p, photos, o.Streams, o.BaseSeed)
	got := r.epoch(batches, len(batches), nil)
	for k, indices := range batches {
		requireOutcome(t, m.batch(indices), got[k], "batch %d", k)
	}
	return r
}

func TestWhatOnlyPillowDecodesIsAskedFor(t *testing.T) {
	for _, kind := range asked {
		t.Run(kind, func(t *testing.T) {
			photos := album("png", kind, "jpeg")
			r := againstModel(t, training(3), photos, pipeline.Options{Workers: 2, Streams: 1}, []int64{0, 1, 2})
			require.Len(t, r.asks, 1)
			ask := r.asks[0]
			require.Equal(t, pipeline.AskPixels, ask.Kind)
			require.Equal(t, 1, ask.Position)
			require.EqualValues(t, 1, ask.Index)
			require.Contains(t, ask.Reason, photos[1].name, "the reason names the file")
		})
	}
}

func TestAQuestionIsAskedAgainUntilItIsAnswered(t *testing.T) {
	r := newRig(t, training(2), album("bmp", "strange"), pipeline.Options{Workers: 2, Streams: 1})
	r.submit(0, 1)
	r.submit(1)
	ask := r.question(pipeline.AskPixels)
	for range 3 {
		require.Equal(t, ask, r.question(pipeline.AskPixels))
	}
	r.answer(ask)
	require.NotEqual(t, ask, r.question(pipeline.AskPixels))
}

// While Python decodes, workers go on with the rest of the batch: the answer is taken all the same.
func TestAnAnswerIsTakenWhateverWorkersDoMeanwhile(t *testing.T) {
	const n = 60
	for seed := range uint64(4) {
		photos := makePhotos(n, seed, "png", "strange", "jpeg", "bmp")
		indices := make([]int64, n)
		for i := range indices {
			indices[i] = int64(i)
		}
		againstModel(t, training(n), photos, pipeline.Options{Workers: 4, Streams: 1, Span: 2}, indices, indices)
	}
}

func TestStatsCountWhatPillowSupplied(t *testing.T) {
	leakcheck.Check(t)
	photos, p := album("png", "bmp", "strange", "missing"), still(4)
	l := openLoader(t, p, store(t, photos))
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	require.Equal(t, delivered, r.run1(0, 1, 2).kind)
	require.Equal(t, broken, r.run1(0, 3).kind)
	got := l.Stats.Snapshot()
	require.EqualValues(t, 1, got.Batches)
	require.EqualValues(t, 1, got.Failed)
	require.EqualValues(t, 2, got.Pillow)
	require.EqualValues(t, 1, got.Detours[stats.Unreadable].Load(), "missing")
	require.EqualValues(t, 1, got.Detours[stats.Foreign].Load()+got.Detours[stats.Refused].Load(), "bmp")
	require.EqualValues(t, 1, got.Detours[stats.Unknown].Load(), "strange")
	require.GreaterOrEqual(t, got.BytesRead, int64(len(photos[0].file)+len(photos[1].file)+len(photos[2].file)))
}

// Each stage is counted for each image and each batch, and the times are where they were spent.
func TestStatsHaveTheTimeOfEachStage(t *testing.T) {
	leakcheck.Check(t)
	photos, p := album("png", "jpeg", "png", "jpeg"), still(4)
	l := openLoader(t, p, store(t, photos))
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	before := time.Now()
	r.submit(0, 1, 2)
	require.Equal(t, delivered, r.result(nil).kind)
	r.submit(3, 0)
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, delivered, r.result(nil).kind)
	passed := time.Since(before).Nanoseconds()
	stages := l.Stats.Snapshot().Stages
	for stage, count := range map[stats.Stage]int64{
		stats.Read: 5, stats.Decode: 5, stats.Op: 5, stats.Gather: 0, stats.Wait: 2, stats.HandOut: 2,
	} {
		got := stages[stage].Distribution()
		require.Equal(t, count, got.Count, "stage %d", stage)
		require.LessOrEqual(t, got.SumNs, 2*passed, "stage %d", stage)
		require.Equal(t, count > 0, got.SumNs > 0 || stage == stats.HandOut && got.Count > 0, "stage %d", stage)
	}
	require.Greater(t, stages[stats.HandOut].Distribution().MaxNs, int64(10*time.Millisecond), "the second one was ready long before")
}

// run1 is one batch alone.
func (r *rig) run1(indices ...int64) outcome {
	r.t.Helper()
	r.submit(indices...)
	return r.result(nil)
}

// A header that lies makes all draws behind it wrong, also those of later batches that are finished already. In the end
// all are as if the header had told the truth.
func TestDrawsAreTakenBackWhenAHeaderLied(t *testing.T) {
	const n = 12
	kindsOf := []string{"png", "jpeg", "liar", "png", "grey jpeg", "png", "liar", "bmp", "png", "png", "png", "png"}
	for _, streams := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(streams, " streams"), func(t *testing.T) {
			leakcheck.Check(t)
			photos, p := album(kindsOf...), training(n)
			l := openLoader(t, p, store(t, photos))
			batches := [][]int64{{0, 2, 1}, {3, 4}, {5, 6, 2}, {8}, {9, 10, 11, 0}, {6, 6}, {1, 3, 5}}
			r := start(t, l, p, photos, pipeline.Options{Workers: 3, Streams: streams, BaseSeed: 3})
			m := newModel(p, photos, streams, 3)
			got := r.epoch(batches, len(batches), nil)
			for k, indices := range batches {
				requireOutcome(t, m.batch(indices), got[k], "batch %d", k)
			}
			require.Positive(t, l.Stats.Snapshot().Rewinds)
		})
	}
}

// What the header says must not decide whether shapes differ.
func TestShapesAreComparedAfterPillowHasSpoken(t *testing.T) {
	photos := album("png", "liar")
	photos[1].size, photos[1].rgb = photos[0].size, photos[0].rgb
	againstModel(t, flipping(2), photos, pipeline.Options{Workers: 2, Streams: 1}, []int64{0, 1}, []int64{0, 0})
}

// A rejected sample ends its batch; those in front of it have drawn, those behind it have not.
func TestStreamsStandWhereTorchsWorkerStandsAfterAnError(t *testing.T) {
	for _, kind := range bad {
		for _, position := range []int{0, 1, 4} {
			t.Run(fmt.Sprint(kind, " at ", position), func(t *testing.T) {
				photos := makePhotos(6, 5, "png")
				photos[5] = makePhotos(1, 6, kind)[0]
				first := []int64{0, 1, 2, 3, 4}
				first[position] = 5
				againstModel(t, training(6), photos, pipeline.Options{Workers: 3, Streams: 2, BaseSeed: 9, Span: 2},
					first, []int64{1}, []int64{2, 3}, first, []int64{4}, []int64{5}, []int64{0, 0})
			})
		}
	}
}

// torch's worker opens and transforms one sample after the other: the first that raises counts, whatever the kind of
// error.
func TestTheFirstSampleInErrorIsTheOneThatCounts(t *testing.T) {
	tiny := photo{name: "tiny", size: size(5, 5), rgb: make([]byte, 75)}
	tiny.file = pngOf(tiny.size, tiny.rgb)
	photos := append(album("png", "broken png", "missing", "bmp", "empty", "liar"), tiny)
	const ok, brokenPNG, missing, bmp, empty, liar, small = 0, 1, 2, 3, 4, 5, 6
	for name, indices := range map[string][]int64{
		"pixels before a file that is not there": {ok, brokenPNG, missing},
		"the reverse":                            {ok, missing, brokenPNG},
		"pixels before a transform":              {brokenPNG, ok, small},
		"a transform before pixels":              {small, brokenPNG},
		"supplied, then a transform":             {bmp, ok, small, brokenPNG},
		"supplied, then a missing file":          {bmp, empty},
		"a liar, then a transform":               {liar, small},
		"pixels, far before":                     {brokenPNG, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, missing},
		"all kinds":                              {ok, bmp, liar, brokenPNG, small, missing, empty},
	} {
		t.Run(name, func(t *testing.T) {
			for _, span := range []int{1, 2, 16} {
				t.Run(strconv.Itoa(span), func(t *testing.T) {
					o := pipeline.Options{Workers: 2, Streams: 1, BaseSeed: 4, Span: span}
					againstModel(t, cropping(len(photos)), photos, o, indices, []int64{ok, bmp}, indices, []int64{ok})
				})
			}
		})
	}
}

// default_collate comes after all samples: one in error counts, not that shapes differ before it.
func TestASampleInErrorCountsBeforeShapesThatDiffer(t *testing.T) {
	photos := album("png", "jpeg", "broken png", "missing", "bmp")
	for _, last := range []int64{2, 3, 4, 1} {
		t.Run(photos[last].name, func(t *testing.T) {
			againstModel(t, flipping(len(photos)), photos, pipeline.Options{Workers: 2, Streams: 1, BaseSeed: 4},
				[]int64{0, 1, last}, []int64{0}, []int64{1}, []int64{0, 1, 1, 1, 0, last}, []int64{4})
		})
	}
}

func TestShapesThatDifferAreTorchsError(t *testing.T) {
	photos := makePhotos(3, 8, "png")
	r := newRig(t, flipping(3), photos, pipeline.Options{Workers: 2, Streams: 1})
	r.submit(0, 0, 1)
	r.submit(2)
	_, _, err := r.next()
	require.ErrorIs(t, err, pipeline.ErrShape)
	require.EqualError(t, err, fmt.Sprintf(
		"stack expects each tensor to be equal size, but got [3, %d, %d] at entry 0 and [3, %d, %d] at entry 2",
		photos[0].size.Height, photos[0].size.Width, photos[1].size.Height, photos[1].size.Width))
	require.Equal(t, []int64{1002}, r.result(nil).labels)
}

func TestASampleThatATransformRefusesIsAskedFor(t *testing.T) {
	photos := makePhotos(4, 8, "png")
	photos[2].size = size(19, 30)
	photos[2].rgb = noise(photos[2].size, rand.New(rand.NewPCG(1, 1)))
	photos[2].file = pngOf(photos[2].size, photos[2].rgb)
	for i := range photos[:2] {
		photos[i] = kinds["png"](size(30, 30), rand.New(rand.NewPCG(2, uint64(i))))
		photos[i].name = fmt.Sprint(i)
	}
	p := cropping(4)
	r := newRig(t, p, photos, pipeline.Options{Workers: 2, Streams: 1, BaseSeed: 2})
	m := newModel(p, photos, 1, 2)
	batches := [][]int64{{0, 1, 2, 0}, {1, 0}}
	r.submit(batches[0]...)
	r.submit(batches[1]...)
	// Pillow decodes it first: a broken file is broken, however small its header says it is.
	require.EqualValues(t, 2, r.question(pipeline.AskPixels).Index)
	require.NoError(t, r.run.Supply(photos[2].rgb, photos[2].size))
	ask := r.question(pipeline.AskSample)
	require.Equal(t, pipeline.Ask{Kind: pipeline.AskSample, Position: 2, Index: 2,
		Reason: "Required crop size (21, 20) is larger than input image size (30, 19)", Detour: stats.Untransformed}, ask)
	require.ErrorIs(t, r.run.Supply(photos[2].rgb, photos[2].size), pipeline.ErrState, "pixels are not the question")
	for _, indices := range batches {
		requireOutcome(t, m.batch(indices), r.result(nil))
	}
}

// wide is an image whose crops are rounded often enough to hang on the last bit of an exponential.
func wide() (*plan.Plan, []photo) {
	photos := []photo{kinds["png"](size(3000, 40), rand.New(rand.NewPCG(1, 1)))}
	photos[0].name = "wide"
	p := newPlan(bytes3, plan.Part{Count: 1, Table: byteTable(),
		Transforms: []plan.Transform{randomResizedCrop(6, 6, [2]float64{50, 80})}})
	p.Pillow.MaxPixels = 0
	return p, photos
}

// seedWhere finds a seed whose first draw hangs on torch.exp, and differently for the two answers.
func seedWhere(t *testing.T, p *plan.Plan, s recipe.Size) (seed uint64, x float32) {
	program, err := draw.Compile(p.Parts[0], p.RNG)
	require.NoError(t, err)
	steps := func(mt rng.MT19937, answers *draw.Answers) []recipe.Step {
		made, _, err := program.Draw(nil, s, &draw.Source{MT: &mt, Exp: answers})
		if errors.As(err, new(*draw.NeedExp)) {
			return nil
		}
		require.NoError(t, err)
		return made
	}
	for seed := uint64(55_000); seed < 1_000_000; seed++ { // a scan from 0 comes as far in vain
		mt := rng.New(seed)
		_, _, err := program.Draw(nil, s, &draw.Source{MT: &mt, Exp: &draw.Answers{}})
		need := (*draw.NeedExp)(nil)
		if !errors.As(err, &need) {
			continue
		}
		var lower, nearest draw.Answers
		require.NoError(t, lower.Learn(need.X, torchExp(need.X)))
		require.NoError(t, nearest.Learn(need.X, float32(math.Exp(float64(need.X)))))
		a, b := steps(rng.New(seed), &lower), steps(rng.New(seed), &nearest)
		if a != nil && b != nil && fmt.Sprint(a) != fmt.Sprint(b) {
			return seed, need.X
		}
	}
	require.Fail(t, "no seed asks for exp")
	return 0, 0
}

func TestTorchsExponentialIsAskedForWhereItDecides(t *testing.T) {
	leakcheck.Check(t)
	p, photos := wide()
	seed, x := seedWhere(t, p, photos[0].size)
	l := openLoader(t, p, store(t, photos))
	o := pipeline.Options{Workers: 2, Streams: 2, BaseSeed: seed - 1} // stream 1 asks
	m := newModel(p, photos, 2, seed-1)
	r := start(t, l, p, photos, o)
	batches := [][]int64{{0}, {0, 0}, {0}, {0}}
	for _, indices := range batches {
		r.submit(indices...)
	}
	ask, taken := r.untilQuestion() // batch 0 may come before it and need not
	require.Equal(t, pipeline.Ask{Kind: pipeline.AskExp, X: x}, ask)
	require.Error(t, r.run.AnswerExp(x, 2*torchExp(x)), "an answer that cannot be is refused")
	require.Equal(t, ask, r.question(pipeline.AskExp), "and the question stays")
	for k, indices := range batches {
		want := m.batch(indices)
		if k < len(taken) {
			requireOutcome(t, want, taken[k])
			continue
		}
		requireOutcome(t, want, r.result(nil))
	}
	r.close()

	// The loader remembers.
	again := start(t, l, p, photos, o)
	m = newModel(p, photos, 2, seed-1)
	for _, indices := range batches {
		again.submit(indices...)
	}
	for _, indices := range batches {
		requireOutcome(t, m.batch(indices), again.result(nil))
	}
	for _, ask := range again.asks {
		require.NotEqual(t, x, ask.X)
	}
}

func TestAResetForgetsTheQuestion(t *testing.T) {
	p, photos := wide()
	seed, x := seedWhere(t, p, photos[0].size)
	r := newRig(t, p, photos, pipeline.Options{Workers: 1, Streams: 1, BaseSeed: seed})
	r.submit(0)
	require.Equal(t, x, r.question(pipeline.AskExp).X)
	require.NoError(t, second(r.run.Reset()))
	news, _, _, err := r.run.Next()
	require.NoError(t, err)
	require.Equal(t, pipeline.Idle, news)
	// The draw was not begun, so it comes again.
	r.submit(0)
	require.Equal(t, x, r.question(pipeline.AskExp).X)
	requireOutcome(t, newModel(p, photos, 1, seed).batch([]int64{0}), r.result(nil))
}

func TestAnAnswerToNoQuestionIsRefused(t *testing.T) {
	photos := album("png", "bmp")
	r := newRig(t, still(2), photos, pipeline.Options{Workers: 1, Streams: 1})
	refuse := func() {
		t.Helper()
		require.ErrorIs(t, second(r.run.Reject()), pipeline.ErrState)
		require.ErrorIs(t, r.run.Supply(photos[1].rgb, photos[1].size), pipeline.ErrState)
	}
	refuse()
	r.submit(0)
	r.submit(1)
	refuse()
	r.deliver().Slot.Release()
	r.question(pipeline.AskPixels)
	require.NoError(t, r.run.Supply(photos[1].rgb, photos[1].size))
	refuse()
	r.deliver().Slot.Release()
	refuse()
}

func TestPixelsThatDoNotFitTheirSizeAreRefused(t *testing.T) {
	photos := album("bmp")
	r := newRig(t, still(1), photos, pipeline.Options{Workers: 1, Streams: 1})
	r.submit(0)
	r.question(pipeline.AskPixels)
	before := mem.InUse(mem.Files)
	rgb := photos[0].rgb
	require.Error(t, r.run.Supply(rgb[1:], photos[0].size))
	require.Error(t, r.run.Supply(nil, recipe.Size{}))
	require.Error(t, r.run.Supply(nil, photos[0].size))
	require.Error(t, r.run.Supply(rgb, recipe.Size{Width: -photos[0].size.Width, Height: -photos[0].size.Height}))
	require.Equal(t, before, mem.InUse(mem.Files))
	require.NoError(t, r.run.Supply(rgb, photos[0].size))
	r.deliver().Slot.Release()
}
