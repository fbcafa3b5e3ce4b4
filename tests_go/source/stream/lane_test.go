package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/stream"
	"github.com/goloader/goloader/tests_go/source/succession"
)

var ctx = context.Background()

// shards make up shards of some samples each, of which those in damaged break off before their last one.
func shards(samples int, damaged ...string) succession.Source {
	return func(shard string) []stream.Sample {
		var made []stream.Sample
		for i := range samples {
			made = append(made, stream.Sample{Key: fmt.Sprintf("%s-%d", shard, i), Parts: []stream.Part{{Suffix: "txt", Data: []byte("x")}}})
		}
		for _, each := range damaged {
			if each == shard {
				made[samples-1].Parts = nil
			}
		}
		return made
	}
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func lane(t *testing.T, from stream.Source, order stream.Order, state *stream.State) *stream.Lane {
	t.Helper()
	require.NoError(t, order.Check())
	l, err := stream.NewLane(ctx, from, &order, state)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// batch takes one, of n samples or of the order's own number, leaving out what is damaged.
func batch(t *testing.T, l *stream.Lane, n int) []stream.Taken {
	t.Helper()
	var taken []stream.Taken
	for {
		var err error
		taken, _, err = l.Take(ctx, taken, n)
		var damage *stream.Damage
		if errors.As(err, &damage) {
			continue
		}
		require.NoError(t, err)
		return taken
	}
}

func keys(taken []stream.Taken) (all []string) {
	for _, each := range taken {
		all = append(all, each.Key)
	}
	return all
}

// rest is all that a lane still gives, in batches.
func rest(t *testing.T, l *stream.Lane, n int) (all [][]string) {
	t.Helper()
	for {
		taken := batch(t, l, n)
		if len(taken) == 0 {
			return all
		}
		all = append(all, keys(taken))
		require.Less(t, len(all), 10000, "it does not end")
	}
}

func randomOrder(random *rand.Rand) stream.Order {
	draws := func() stream.Draws {
		return stream.Draws{Seed: random.Uint64N(100), Each: random.IntN(2) == 0, Through: random.IntN(3) == 0}
	}
	shuffle := func() stream.Stage {
		return stream.Stage{Shuffle: &stream.Shuffle{Size: random.IntN(12), Initial: random.IntN(8), Draws: draws()}}
	}
	stages := func() (made []stream.Stage) {
		for range random.IntN(3) {
			if random.IntN(3) > 0 {
				made = append(made, shuffle())
				continue
			}
			slice := stream.Slice{Start: random.Int64N(2), Stop: -1, Step: 1 + random.Int64N(2)}
			if random.IntN(2) == 0 {
				slice.Stop = random.Int64N(40)
			}
			made = append(made, stream.Stage{Slice: &slice})
		}
		return made
	}
	o := stream.Order{
		Shards: names(1 + random.IntN(5)), ShardStages: stages(), Stages: stages(), Rounds: 1 + random.Int64N(3), Limit: -1,
		Partial: random.IntN(2) == 0,
	}
	if random.IntN(3) == 0 {
		o.Batch = 1 + random.IntN(6)
	}
	if random.IntN(2) == 0 {
		o.Limit = 1 + random.Int64N(30)
	}
	if random.IntN(4) == 0 {
		o.Resample = &stream.Resample{Count: 1 + random.Int64N(6), Draws: draws(), Made: random.IntN(2) == 0, Worker: 3, Epoch: 2}
	}
	return o
}

// From any place of any order another lane goes on as the first one does, by way of JSON.
func TestALaneGoesOnFromAnyPlace(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		order, from := randomOrder(random), shards(1+random.IntN(70), "2")
		n := 1 + random.IntN(7)
		if order.Batch > 0 {
			n = order.Batch
		}
		l, batches := lane(t, from, order, nil), int64(0)
		for range random.IntN(40) {
			taken := batch(t, l, n)
			if len(taken) == 0 {
				break
			}
			if batches++; order.Batch == 0 {
				batches = 0
			}
			text, err := json.Marshal(taken[len(taken)-1].Behind.State(batches))
			require.NoError(t, err)
			if random.IntN(4) > 0 {
				continue
			}
			var state stream.State
			require.NoError(t, json.Unmarshal(text, &state))
			again := lane(t, from, order, &state)
			want := rest(t, l, n)
			require.Equal(t, want, rest(t, again, n), "seed %d, %+v, from %s", seed, order, text)
			break
		}
	}
}

// What is given back comes again, with the rest of what belongs to it.
func TestWhatIsGivenBackComesAgain(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		order, from := randomOrder(random), shards(1+random.IntN(20))
		order.Partial = true
		n := 1 + random.IntN(7)
		if order.Batch > 0 {
			n = order.Batch
		}
		want := rest(t, lane(t, from, order, nil), n)
		l := lane(t, from, order, nil)
		var got [][]string
		for {
			var several []stream.Taken
			count := int64(0)
			for range random.IntN(4) {
				if taken := batch(t, l, n); len(taken) > 0 {
					several = append(several, taken...)
					count++
				}
			}
			if order.Batch == 0 {
				count = 0
			}
			l.GiveBack(several, count, nil)
			taken := batch(t, l, n)
			if len(taken) == 0 {
				break
			}
			got = append(got, keys(taken))
		}
		require.Equal(t, want, got, "seed %d, %+v", seed, order)
	}
}

func TestOfADamagedShardAllButTheRestIsGiven(t *testing.T) {
	l := lane(t, shards(3, "1"), stream.Order{Shards: names(3), Rounds: 1, Limit: -1}, nil)
	taken, _, err := l.Take(ctx, nil, 9)
	var damage *stream.Damage
	require.ErrorAs(t, err, &damage)
	require.Equal(t, 1, damage.Shard)
	require.Equal(t, []string{"0-0", "0-1", "0-2", "1-0", "1-1"}, keys(taken))
	taken, _, err = l.Take(ctx, nil, 9)
	require.NoError(t, err)
	require.Equal(t, []string{"2-0", "2-1", "2-2"}, keys(taken))
}

func TestShardsCanBeStoppedAndShufflesGiveWhatTheyHold(t *testing.T) {
	order := stream.Order{
		Shards: names(3), Rounds: 1, Limit: -1, Stages: []stream.Stage{{Shuffle: &stream.Shuffle{Size: 100, Initial: 100}}},
	}
	l := lane(t, shards(3, "1"), order, nil)
	_, _, err := l.Take(ctx, nil, 9)
	var damage *stream.Damage
	require.ErrorAs(t, err, &damage)
	l.StopShards()
	require.ElementsMatch(t, []string{"0-0", "0-1", "0-2", "1-0", "1-1"}, keys(batch(t, l, 9)))
}

func TestAnOrderThatWantsSamplesFailsWithoutAny(t *testing.T) {
	l := lane(t, shards(3), stream.Order{Rounds: 1, Limit: -1, NotEmpty: true}, nil)
	_, _, err := l.Take(ctx, nil, 1)
	require.ErrorIs(t, err, stream.ErrEmpty)
}

func TestWhatIsNoStateOfAnOrderIsRefused(t *testing.T) {
	order := stream.Order{Shards: names(2), Rounds: 1, Limit: -1, Stages: []stream.Stage{{Shuffle: &stream.Shuffle{Size: 9, Initial: 9}}}}
	for _, state := range []stream.State{
		{},
		{Stages: []stream.StageState{{Held: []int64{1}}}},
		{Stages: []stream.StageState{{Held: []int64{7, 0}}}},
		{Stages: []stream.StageState{{Held: []int64{-1, 0}}}},
		{Stages: []stream.StageState{{}}, Reading: true, Shard: 2},
		{Stages: []stream.StageState{{}}, Skip: -1},
	} {
		_, err := stream.NewLane(ctx, shards(3), &order, &state)
		require.ErrorIs(t, err, stream.ErrState, "%+v", state)
	}
}
