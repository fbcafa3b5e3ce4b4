package pipeline_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/stream"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/succession"
)

// A shard of these tests is called "from-to": it has these photos, whose keys are their numbers. damaged breaks off before its
// last one.
func shardsOf(photos []photo, damaged string) succession.Source {
	return func(shard string) []stream.Sample {
		from, to := 0, 0
		if _, err := fmt.Sscanf(shard, "%d-%d", &from, &to); err != nil {
			return nil
		}
		made := []stream.Sample{}
		for i := from; i < to; i++ {
			s := stream.Sample{Key: strconv.Itoa(i), Parts: []stream.Part{
				{Suffix: "cls", Data: fmt.Append(nil, photos[i].label)}, {Suffix: "png", Data: photos[i].file},
			}}
			if photos[i].name == "odd" {
				s.Parts[0].Data = []byte("seven")
			}
			if shard == damaged && i == to-1 {
				s.Parts = nil
			}
			made = append(made, s)
		}
		return made
	}
}

// streaming is a plan's image and label as a stream has them.
func streaming(p *plan.Plan) *plan.Plan {
	made := *p
	made.Source = plan.Source{
		Kind:    plan.Stream,
		Images:  []plan.StreamImage{{Of: []string{"jpg", "png"}, Output: p.Output, Part: p.Parts[0]}},
		Columns: []plan.StreamColumn{{Kind: plan.NumberColumn, Of: []string{"cls"}}},
	}
	made.Parts = nil
	return &made
}

// lanes is a run of a stream, whose bad samples and shards a Python leaves out, or fails for.
type lanes struct {
	*rig
	loader *pipeline.Loader
	asked  []pipeline.AskKind
	strict bool
}

func openLanes(t *testing.T, p *plan.Plan, from stream.Source, photos []photo, o pipeline.Options) *lanes {
	t.Helper()
	leakcheck.Check(t)
	l, err := pipeline.OpenStream(streaming(p), from)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return &lanes{rig: start(t, l, p, photos, o), loader: l}
}

var errFailed = errors.New("failed")

// result is the next batch; nil at a lane's end.
func (r *lanes) result() (*outcome, error) {
	r.t.Helper()
	for {
		news, lease, ask, err := r.run.Next()
		switch {
		case err != nil:
			return nil, err
		case news == pipeline.Ended:
			return nil, nil
		case news == pipeline.Delivered:
			o := r.read(lease)
			lease.Slot.Release()
			return &o, nil
		case news == pipeline.Empty:
			r.wait()
			continue
		}
		r.asked = append(r.asked, ask.Kind)
		if ask.Kind == pipeline.AskExp {
			require.NoError(r.t, r.run.AnswerExp(ask.X, torchExp(ask.X)))
			continue
		}
		if ask.Kind == pipeline.AskPixels {
			packed, err := r.run.AskedSample()
			require.NoError(r.t, err)
			number, err := strconv.Atoi(unpack(r.t, packed)["__key__"])
			require.NoError(r.t, err)
			if p := r.photos[number]; !p.broken {
				require.NoError(r.t, r.run.Supply(p.rgb, p.size))
				continue
			}
		}
		if r.strict {
			require.NoError(r.t, second(r.run.Reject()))
			return nil, errFailed
		}
		require.NoError(r.t, second(r.run.LeaveOut(false)))
	}
}

func unpack(t testing.TB, packed []byte) map[string]string {
	t.Helper()
	number := func(at int) int { return int(binary.LittleEndian.Uint64(packed[8*at:])) }
	files := map[string]string{}
	at := 8 * (1 + 2*number(0))
	for i := range number(0) {
		name, size := number(1+2*i), number(2+2*i)
		files[string(packed[at:at+name])] = string(packed[at+name : at+name+size])
		at += name + size
	}
	require.Len(t, packed, at)
	return files
}

// kept are the photos that a lane gives, in their order, without those that are broken or odd.
func kept(t *testing.T, order stream.Order, photos []photo, damaged string) (all []int64) {
	t.Helper()
	l, err := stream.NewLane(context.Background(), shardsOf(photos, damaged), &order, nil)
	require.NoError(t, err)
	defer l.Close()
	for {
		taken, _, err := l.Take(context.Background(), nil, 1)
		for _, each := range taken {
			i, err := strconv.ParseInt(each.Key, 10, 64)
			require.NoError(t, err)
			if !photos[i].broken && photos[i].name != "odd" {
				all = append(all, i)
			}
		}
		var damage *stream.Damage
		if len(taken) == 0 && !errors.As(err, &damage) {
			require.NoError(t, err)
			return all
		}
	}
}

// A lane's batches are those of the same images by index, drawn from as many generators, without those that are left out; for any
// number of lanes and of batches that are asked for ahead, also where another run goes on from any place.
func TestAStreamsBatchesAreThoseOfItsImages(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		photos := makePhotos(60, seed, "png", "jpeg", "bmp", "broken png", "jpeg", "grey jpeg", "liar", "strange", "broken jpeg")
		photos[random.IntN(len(photos))].name = "odd"
		p := []func(int) *plan.Plan{training, still}[seed%2](len(photos))
		n, workers := 1+random.IntN(7), 1+random.IntN(3)
		damaged := "10-20"
		var orders []stream.Order
		models := make([]*model, workers)
		want := make([][]int64, workers)
		for w := range workers {
			o := stream.Order{Rounds: 1 + random.Int64N(2), Limit: -1, Stages: []stream.Stage{
				{Shuffle: &stream.Shuffle{Size: random.IntN(9), Initial: random.IntN(9), Draws: stream.Draws{Seed: seed}}},
			}}
			for i := w; i < 6; i += workers {
				o.Shards = append(o.Shards, fmt.Sprintf("%d-%d", 10*i, 10*i+10))
			}
			orders = append(orders, o)
			models[w], want[w] = newModel(p, photos, 1, 100+uint64(w)), kept(t, o, photos, damaged)
		}
		options := pipeline.Options{Workers: 3, Streams: workers, BaseSeed: 100, Span: random.IntN(5)}
		r := openLanes(t, p, shardsOf(photos, damaged), photos, options)
		for w, o := range orders {
			require.NoError(t, r.run.OpenLane(w, &o, nil, true))
		}
		for range 1 + random.IntN(3) {
			for w := range workers {
				require.NoError(t, r.run.SubmitNext(w, n, nil, 0))
			}
		}
		over := make([]bool, workers)
		for k := 0; ; k++ {
			w := k % workers
			got, err := r.result()
			require.NoError(t, err)
			if got == nil {
				require.Empty(t, want[w], "seed %d, lane %d", seed, w)
				if over[w] = true; workers == 1 || over[0] && over[1] && over[workers-1] {
					break
				}
			} else {
				take := min(n, len(want[w]))
				requireOutcome(t, models[w].batch(want[w][:take]), *got, "seed %d, lane %d", seed, w)
				want[w] = want[w][take:]
			}
			if k == 2*workers && random.IntN(2) == 0 { // another run goes on
				r = r.goesOn(t, p, damaged, orders, options)
				for range 2 {
					for i := range workers {
						require.NoError(t, r.run.SubmitNext((k+1+i)%workers, n, nil, 0))
					}
				}
				continue
			}
			require.NoError(t, r.run.SubmitNext(w, n, nil, 0))
		}
		require.Contains(t, r.asked, pipeline.AskPixels)
		r.close()
	}
}

// goesOn is another run where this one stands.
func (r *lanes) goesOn(t *testing.T, p *plan.Plan, damaged string, orders []stream.Order, o pipeline.Options) *lanes {
	drawn := make([]int64, r.run.Positions())
	require.NoError(t, r.run.Position(drawn))
	next := &lanes{rig: start(t, r.loader, p, r.photos, o), loader: r.loader, asked: r.asked}
	require.NoError(t, next.run.Resume(0, drawn))
	for w := range orders {
		state, err := r.run.LaneState(w)
		require.NoError(t, err)
		require.NoError(t, next.run.OpenLane(w, &orders[w], &state, true))
	}
	r.close()
	return next
}

func TestALaneEndsWithAnErrorAsAnIteratorDoes(t *testing.T) {
	for _, kind := range []string{"broken png", "odd", "damaged"} {
		photos, damaged := makePhotos(40, 1, "png"), ""
		switch kind {
		case "odd":
			photos[5].name = "odd"
		case "damaged":
			damaged = "0-6"
		default:
			photos[5] = makePhotos(1, 2, kind)[0]
		}
		p := training(len(photos))
		r := openLanes(t, p, shardsOf(photos, damaged), photos, pipeline.Options{Streams: 2, BaseSeed: 7})
		r.strict = true
		for w, shards := range [][]string{{"0-6", "6-20"}, {"20-40"}} {
			require.NoError(t, r.run.OpenLane(w, &stream.Order{Shards: shards, Rounds: 1, Limit: -1}, nil, true))
		}
		for range 4 {
			require.NoError(t, r.run.SubmitNext(0, 4, nil, 0))
			require.NoError(t, r.run.SubmitNext(1, 4, nil, 0))
		}
		first, second := newModel(p, photos, 1, 7), newModel(p, photos, 1, 8)
		for k := range 4 {
			got, err := r.result()
			switch k {
			case 0:
				requireOutcome(t, first.batch([]int64{0, 1, 2, 3}), *got)
			case 1:
				require.ErrorIs(t, err, errFailed, kind)
				state, err := r.run.LaneState(0)
				require.NoError(t, err)
				require.True(t, state.Over)
			default:
				require.NoError(t, err)
				require.Nil(t, got)
			}
			got, err = r.result()
			require.NoError(t, err)
			at := int64(20 + 4*k)
			requireOutcome(t, second.batch([]int64{at, at + 1, at + 2, at + 3}), *got)
		}
		r.close()
	}
}

func TestALaneStopsInFrontOfASample(t *testing.T) {
	photos := makePhotos(20, 1, "png")
	photos[5] = makePhotos(1, 2, "broken png")[0]
	p := still(len(photos))
	r := openLanes(t, p, shardsOf(photos, ""), photos, pipeline.Options{Streams: 1})
	require.NoError(t, r.run.OpenLane(0, &stream.Order{Shards: []string{"0-20"}, Rounds: 1, Limit: -1}, nil, true))
	for range 4 {
		require.NoError(t, r.run.SubmitNext(0, 4, nil, 0))
	}
	got, err := r.result()
	require.NoError(t, err)
	require.Len(t, got.labels, 4)
	require.Equal(t, pipeline.AskPixels, r.rig.question(pipeline.AskPixels).Kind)
	require.NoError(t, second(r.run.LeaveOut(true)))
	got, err = r.result()
	require.NoError(t, err)
	require.Equal(t, []int64{photos[4].label}, got.labels)
	for range 2 {
		got, err = r.result()
		require.NoError(t, err)
		require.Nil(t, got)
	}
}

func TestBytesOfSamplesAreColumns(t *testing.T) {
	leakcheck.Check(t)
	photos := makePhotos(5, 1, "png")
	p := &plan.Plan{Source: plan.Source{Kind: plan.Stream, Columns: []plan.StreamColumn{
		{Kind: plan.BytesColumn, Of: []string{"__key__"}}, {Kind: plan.WholeColumn}, {Kind: plan.NumberColumn, Of: []string{"cls"}},
	}}}
	l, err := pipeline.OpenStream(p, shardsOf(photos, ""))
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	r := start(t, l, p, photos, pipeline.Options{Streams: 1})
	require.NoError(t, r.run.OpenLane(0, &stream.Order{Shards: []string{"0-5"}, Rounds: 1, Limit: -1}, nil, true))
	require.NoError(t, r.run.SubmitNext(0, 9, nil, 0))
	lease := r.deliver()
	all := lease.Slot.Bytes()
	field := func(i int) []byte {
		f := lease.Fields[i]
		return all[f.Offset : f.Offset+f.Spec.Bytes()]
	}
	require.Equal(t, "01234", string(field(1)))
	begin := 0
	for i := range 5 {
		require.EqualValues(t, i+1, binary.NativeEndian.Uint64(field(0)[8*i:]))
		end := int(binary.NativeEndian.Uint64(field(2)[8*i:]))
		files := unpack(t, field(3)[begin:end])
		require.Equal(t, string(photos[i].file), files["png"])
		require.Equal(t, strconv.Itoa(i), files["__key__"])
		require.EqualValues(t, photos[i].label, binary.NativeEndian.Uint64(field(4)[8*i:]))
		begin = end
	}
	lease.Slot.Release()
	r.close()
}

// stuck never gives its second sample.
type stuck struct {
	succession.Source
	until chan struct{}
}

func (s stuck) Open(ctx context.Context, shard string, at int64) (stream.Reader, error) {
	r, err := s.Source.Open(ctx, shard, at)
	return &stuckReader{r, s.until, 0}, err
}

type stuckReader struct {
	stream.Reader
	until chan struct{}
	given int
}

func (r *stuckReader) Next(ctx context.Context) (stream.Sample, error) {
	if r.given++; r.given > 1 {
		<-r.until
		return stream.Sample{}, source.ErrUnreadable
	}
	return r.Reader.Next(ctx)
}

func TestAShardThatDoesNotComeHoldsUpNobody(t *testing.T) {
	photos := makePhotos(5, 1, "png")
	until := make(chan struct{})
	p := still(len(photos))
	r := openLanes(t, p, stuck{shardsOf(photos, ""), until}, photos, pipeline.Options{Streams: 2})
	order := &stream.Order{Shards: []string{"0-5"}, Rounds: 1, Limit: -1}
	require.NoError(t, r.run.OpenLane(0, order, nil, true))
	require.NoError(t, r.run.SubmitNext(0, 4, nil, 0))
	eventually(t, func() bool { return pipeline.Serving() > 0 })
	left, err := r.run.Reset()
	require.NoError(t, err)
	require.LessOrEqual(t, left, 1)
	require.NoError(t, r.run.OpenLane(0, order, nil, true))
	require.NoError(t, r.run.SubmitNext(0, 1, nil, 0))
	got, err := r.result()
	require.NoError(t, err)
	require.Equal(t, []int64{photos[0].label}, got.labels)
	require.NoError(t, r.run.SubmitNext(0, 1, nil, 0))
	r.close()
	close(until)
	eventually(t, func() bool { return pipeline.LeftBehind() == 0 })
}
