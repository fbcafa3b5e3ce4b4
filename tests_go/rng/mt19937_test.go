package rng_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/rng"
)

// walk is a run of draws by torch (testdata/generate_rng.py): [name, arguments ..., result].
type walk struct {
	Seed  uint64
	FMA   bool
	Draws [][]json.Number
	State string
}

// UnmarshalJSON keeps each item of a draw as it stands, since names and numbers are mixed.
func (w *walk) UnmarshalJSON(b []byte) error {
	var raw struct {
		Seed  uint64
		FMA   bool
		Draws [][]json.RawMessage
		State string
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	w.Seed, w.FMA, w.State = raw.Seed, raw.FMA, raw.State
	for _, d := range raw.Draws {
		draw := make([]json.Number, len(d))
		for i, v := range d {
			draw[i] = json.Number(v)
		}
		w.Draws = append(w.Draws, draw)
	}
	return nil
}

func float(t *testing.T, n json.Number) float64 {
	v, err := n.Float64()
	require.NoError(t, err)
	return v
}

func integer(t *testing.T, n json.Number) uint64 {
	v, err := n.Int64()
	require.NoError(t, err)
	return uint64(v)
}

func TestDrawsAreTorchs(t *testing.T) {
	text, err := os.ReadFile("../testdata/rng.json")
	require.NoError(t, err)
	var walks []walk
	require.NoError(t, json.Unmarshal(text, &walks))
	require.Len(t, walks, 6)
	for _, w := range walks {
		m := rng.New(w.Seed)
		for i, d := range w.Draws {
			want := d[len(d)-1]
			switch d[0] {
			case `"uniform"`:
				got := m.Uniform(float32(float(t, d[1])), float32(float(t, d[2])), w.FMA)
				require.Equal(t, float(t, want), float64(got), "seed %d, draw %d: %v", w.Seed, i, d)
			case `"rand"`:
				require.Equal(t, float(t, want), float64(m.Rand()), "seed %d, draw %d", w.Seed, i)
			case `"rand64"`:
				require.Equal(t, float(t, want), float64(m.Uint64()&(1<<53-1))*0x1p-53, "seed %d, draw %d", w.Seed, i)
			case `"randint"`:
				require.Equal(t, integer(t, want), m.Randint(integer(t, d[1])), "seed %d, draw %d: %v", w.Seed, i, d)
			case `"random63"`:
				require.Equal(t, integer(t, want), uint64(m.Random63()), "seed %d, draw %d", w.Seed, i)
			default:
				t.Fatalf("unknown draw %v", d)
			}
		}
		state := sha256.Sum256(store(t, &m))
		require.Equal(t, w.State, hex.EncodeToString(state[:]), "seed %d", w.Seed)
	}
}

// Numbers of weights that torch.multinomial takes for granted are in tests_py/parity/test_containers_equal.py.
func TestAPlaceByWeightsIsSureUnlessTwoAreAlike(t *testing.T) {
	m := rng.New(1)
	before := m
	place, sure := m.Multinomial([]float64{0, 0.5, 0})
	require.Equal(t, 1, place)
	require.True(t, sure)
	require.Equal(t, before.Drawn()+6, m.Drawn())
	exponential := func(of *rng.MT19937) float64 { return -math.Log1p(-float64(of.Uint64()&(1<<53-1)) * 0x1p-53) }
	for _, off := range []float64{0, 0x1p-22, 0x1p-18} {
		again := before
		weights := []float64{exponential(&again), exponential(&again) * (1 - off)}
		again = before
		place, sure = again.Multinomial(weights)
		require.Equal(t, 0, place)
		require.Equal(t, off > 0x1p-20, sure)
	}
}

func store(t testing.TB, m *rng.MT19937) []byte {
	b := make([]byte, rng.TorchStateBytes)
	require.NoError(t, m.StoreTorch(b))
	return b
}

func TestACopyIsASnapshot(t *testing.T) {
	m := rng.New(3)
	for range 1000 {
		m.Uint32()
	}
	before := m
	var first, second [1500]uint32
	for i := range first {
		first[i] = m.Uint32()
	}
	m = before
	for i := range second {
		second[i] = m.Uint32()
	}
	require.Equal(t, first, second)
}

func TestStateGoesToTorchAndBackAtEveryPlace(t *testing.T) {
	m := rng.New(9)
	for range 1300 { // past two refills
		state := store(t, &m)
		var back rng.MT19937
		require.NoError(t, back.LoadTorch(state))
		require.Equal(t, state, store(t, &back))
		require.Equal(t, m.Uint32(), back.Uint32())
		require.Equal(t, store(t, &m), store(t, &back))
	}
}

func TestSeedAndWordsDrawnAreTheWholeState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int64{0, 1, 2, 623, 624, 625, 1247, 1248, 1249, 5000, random.Int64N(1 << 20)} {
		m := rng.New(9)
		for range n {
			m.Uint32()
		}
		require.Equal(t, n, m.Drawn())
		skipped := rng.New(9)
		for skipped.Drawn() < n {
			skipped.Discard(min(n-skipped.Drawn(), random.Int64N(1000)))
		}
		require.Equal(t, m, skipped)
	}
}

func TestTheNormalCacheIsCarried(t *testing.T) {
	m := rng.New(9)
	state := store(t, &m)
	for i := 5016; i < len(state); i++ {
		state[i] = byte(i)
	}
	require.NoError(t, m.LoadTorch(state))
	require.Equal(t, state, store(t, &m))
	m.Seed(9)
	require.NotEqual(t, state, store(t, &m), "a new seed drops it, as torch does")
}

func TestBadStatesAreRefusedAndChangeNothing(t *testing.T) {
	m := rng.New(9)
	m.Uint32()
	good := store(t, &m)
	cases := map[string]func(b []byte) []byte{
		"bytes":   func(b []byte) []byte { return b[:len(b)-1] },
		"left":    func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], 0); return b },
		"left is": func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], 625); return b },
		"seeded":  func(b []byte) []byte { b[12] = 0; return b },
		"next":    func(b []byte) []byte { binary.LittleEndian.PutUint64(b[16:], 625); return b },
		"in all":  func(b []byte) []byte { b[16]++; return b },
		"32 bits": func(b []byte) []byte { b[24+8*100+4] = 1; return b },
	}
	for text, spoil := range cases {
		require.ErrorContains(t, m.LoadTorch(spoil(append([]byte{}, good...))), text)
		require.Equal(t, good, store(t, &m))
	}
	require.Error(t, m.StoreTorch(make([]byte, 10)))
}

// Uniform with fma is rounded once, whatever the exponents: compared with exact arithmetic.
func TestUniformIsRoundedOnce(t *testing.T) {
	pick := rand.New(rand.NewPCG(1, 2))
	m := rng.New(1)
	for range 200_000 {
		a := float32(pick.NormFloat64()) * float32(int64(1)<<pick.IntN(60)) / (1 << 30)
		b := float32(pick.NormFloat64()) * float32(int64(1)<<pick.IntN(60)) / (1 << 30)
		lo, hi := min(a, b), max(a, b)
		peek := m
		r := peek.Rand()
		exact := new(big.Float).SetPrec(400).SetFloat64(float64(r))
		exact.Mul(exact, big.NewFloat(float64(hi-lo)))
		exact.Add(exact, big.NewFloat(float64(lo)))
		want, _ := exact.Float32()
		require.Equal(t, want, m.Uniform(lo, hi, true), "%v, %v, %v", lo, hi, r)
	}
}

// Any state that is taken keeps giving words, and comes back the same.
func FuzzLoadTorch(f *testing.F) {
	m := rng.New(5)
	f.Add(store(f, &m))
	m.Uint32()
	f.Add(store(f, &m))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, state []byte) {
		var m rng.MT19937
		if m.LoadTorch(state) != nil {
			require.Equal(t, rng.MT19937{}, m)
			return
		}
		require.Equal(t, state, store(t, &m))
		for range 2000 {
			m.Uint32()
		}
	})
}

func BenchmarkUint32(b *testing.B) {
	m := rng.New(1)
	for b.Loop() {
		m.Uint32()
	}
}

func BenchmarkUniform(b *testing.B) {
	m := rng.New(1)
	for b.Loop() {
		m.Uniform(0.08, 1, true)
	}
}

// What random.Random(seed).getrandbits(32) gives first, by CPython 3.11.
func TestPythonsSeedsAreItsOwn(t *testing.T) {
	for seed, want := range map[uint64][3]uint32{
		0: {3626764237, 1654615998, 3255389356}, 42: {2746317213, 478163327, 107420369},
		1<<32 - 1: {2728839433, 2661025012, 872737089}, 1 << 32: {485306839, 1508871100, 1794561286},
		1<<40 + 5: {2166296868, 2220160828, 1153647273},
	} {
		var mt rng.MT19937
		mt.SeedPython(seed)
		require.Equal(t, want, [3]uint32{mt.Uint32(), mt.Uint32(), mt.Uint32()}, seed)
	}
}

// What numpy.random.seed(seed) and numpy.random.bytes(8) give first, by numpy 2.
func TestNumPysSeedsAreItsOwn(t *testing.T) {
	for seed, want := range map[uint64][2]uint32{0: {2357136044, 2546248239}, 42: {1608637542, 3421126067}, 4294967295: {419326371, 479346978}} {
		var mt rng.MT19937
		mt.Seed(seed)
		require.Equal(t, want, [2]uint32{mt.Uint32(), mt.Uint32()}, seed)
	}
}

// deviates are what random.seed(7) and random.gauss(0, 1) give first, by CPython 3.11.
var deviates = []float64{
	-0x1.06057b7a4b411p-2, 0x1.05da59e8cdf2bp-1, -0x1.cf0b818bf4a85p-3, -0x1.42a14be7a8b63p-2, -0x1.dc2b58203e26dp-1,
}

func TestPythonsNormalDeviatesAreItsOwn(t *testing.T) {
	var mt rng.MT19937
	mt.SeedPython(7)
	for _, want := range deviates {
		require.Equal(t, want, mt.Gauss())
	}
}

// numpys are what numpy.random.seed(7) and numpy.random.standard_normal() give first, by numpy 2.4.
var numpys = []float64{
	0x1.b0c64ae2deb29p0, -0x1.dd1eafa1d414dp-2, 0x1.0cdcdf34c3aedp-5,
	0x1.a14bf2d03adc9p-2, -0x1.93edb81e0483fp-1, 0x1.0ebd202837d2fp-9,
}

func TestNumPysNormalDeviatesAreItsOwn(t *testing.T) {
	mt := rng.New(7)
	for _, want := range numpys {
		require.Equal(t, want, mt.NumPyGauss())
	}
}

// deviatesOfTorch are what torch.manual_seed(5489) and torch.randn(19) give, by torch 2.15 with and without its kernels for AVX2.
var deviatesOfTorch = map[bool][]float64{
	true: {
		0x1.ef9ac80000000p-1, 0x1.2bd1440000000p+0, 0x1.046d100000000p+1, -0x1.497ad60000000p-1, 0x1.489b240000000p-1,
		0x1.c7af740000000p+0, -0x1.ff98900000000p-2, 0x1.8622a40000000p-4, 0x1.0bc2a80000000p-2, 0x1.0ca66a0000000p-3,
		-0x1.6297a40000000p-1, 0x1.7c0a720000000p+0, -0x1.56168a0000000p-1, 0x1.ce609c0000000p-2, 0x1.0367700000000p+0,
		0x1.2ea1fc0000000p-1, -0x1.8c3c0e0000000p-5, -0x1.feef160000000p-2, 0x1.570c940000000p-2,
	},
	false: {
		0x1.ef9ac80000000p-1, 0x1.2bd1440000000p+0, 0x1.046d100000000p+1, -0x1.497ad80000000p-1, 0x1.489b240000000p-1,
		0x1.c7af740000000p+0, -0x1.ff98940000000p-2, 0x1.8622a40000000p-4, 0x1.0bc2a80000000p-2, 0x1.0ca66c0000000p-3,
		-0x1.6297a40000000p-1, 0x1.7c0a700000000p+0, -0x1.5616880000000p-1, 0x1.ce609c0000000p-2, 0x1.0367700000000p+0,
		0x1.2ea1fc0000000p-1, -0x1.8c3c0e0000000p-5, -0x1.feef160000000p-2, 0x1.570c960000000p-2,
	},
}

func TestTorchsNormalDeviatesAreItsOwn(t *testing.T) {
	for wide, all := range deviatesOfTorch {
		kind := rng.Normals
		if wide {
			if runtime.GOARCH != "amd64" {
				continue
			}
			kind = rng.NormalsAVX2
		}
		mt := rng.New(5489)
		got := make([]uint64, len(all))
		mt.DrawAll(kind, got)
		for k, want := range all {
			require.Equal(t, want, math.Float64frombits(got[k]), "number %d", k)
		}
		require.EqualValues(t, len(all)+16, mt.Drawn())
	}
}

// A place says all of a generator, wherever it stands between its deviates.
func TestAGeneratorGoesToAPlace(t *testing.T) {
	for _, gauss := range []func(*rng.MT19937) float64{(*rng.MT19937).Gauss, (*rng.MT19937).NumPyGauss} {
		for steps := range 40 {
			var mt, other rng.MT19937
			mt.SeedPython(7)
			other.SeedPython(7)
			for k := range steps {
				if k%3 == 1 {
					mt.Random()
				} else {
					gauss(&mt)
				}
			}
			require.NoError(t, other.GoTo(mt.Place(), gauss))
			require.Equal(t, mt.Place(), other.Place())
			for range 3 {
				require.Equal(t, gauss(&mt), gauss(&other), steps)
			}
		}
	}
}

// A deviate that came with a state, of somebody who drew so many words, is found where it was made.
func TestADeviateOfAStateIsFound(t *testing.T) {
	for _, gauss := range []func(*rng.MT19937) float64{(*rng.MT19937).Gauss, (*rng.MT19937).NumPyGauss} {
		for steps := range 30 {
			began := rng.New(9)
			for range steps % 4 {
				gauss(&began)
			}
			ahead, state := began, make([]byte, rng.TorchStateBytes)
			for k := range steps {
				if k%3 == 1 {
					ahead.Random()
				} else {
					gauss(&ahead)
				}
			}
			require.NoError(t, ahead.StoreTorch(state))
			var loaded rng.MT19937
			require.NoError(t, loaded.LoadTorch(state))
			drawn := loaded.Since(began, 1<<20)
			followed, again := began, rng.New(9)
			followed.Discard(drawn)
			followed.TakeSpare(&loaded, &began, drawn, gauss)
			require.NoError(t, again.GoTo(followed.Place(), gauss))
			require.Equal(t, [3]float64{gauss(&ahead), gauss(&ahead), gauss(&ahead)}, [3]float64{gauss(&again), gauss(&again), gauss(&again)}, steps)
		}
	}
}

// A deviate that came with a state stays with it, and nobody can go to such a place from elsewhere.
func TestADeviateGoesWithAState(t *testing.T) {
	var mt, other, fresh rng.MT19937
	mt.SeedPython(7)
	mt.Gauss()
	state := make([]byte, rng.TorchStateBytes)
	require.NoError(t, mt.StoreTorch(state))
	require.NoError(t, other.LoadTorch(state))
	place := other.Place()
	require.Equal(t, deviates[1], other.Gauss())
	require.Equal(t, int64(0), other.Place())
	fresh.SeedPython(7)
	require.Error(t, fresh.GoTo(place, (*rng.MT19937).Gauss))
	require.Error(t, fresh.GoTo(-1, (*rng.MT19937).Gauss))
}
