package draw

import (
	"fmt"
	"math"
	"sync"
)

// torch.exp of a float32 is not always the nearest float32 (it is 1 ulp off for about 1% of arguments, which ones
// depends on the build), but never further off than its two neighbours. So a draw computes the nearest, looks whether a
// neighbour would change what comes out, and only then has torch asked: about once in 8,000 draws.

// NeedExp says that a draw hangs on what exactly torch.exp(X) is. See Program.Draw.
type NeedExp struct{ X float32 }

func (e *NeedExp) Error() string { return fmt.Sprintf("draw: torch must say what exp(%v) is", e.X) }

// Answers remembers what torch.exp gave. The zero Answers is ready; any number of goroutines may use it.
type Answers struct {
	mu    sync.RWMutex
	known map[uint32]float32 // by the argument's bits
}

// Learn takes torch.exp(x) = y. It refuses a y that is more than 1 ulp off: then nothing here holds for this torch.
func (a *Answers) Learn(x, y float32) error {
	nearest := exp32(x)
	if y < math.Nextafter32(nearest, 0) || y > math.Nextafter32(nearest, math.MaxFloat32) || y != y {
		return fmt.Errorf("torch.exp(%v) gave %v, more than 1 ulp from %v", x, y, nearest)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = make(map[uint32]float32)
	}
	a.known[math.Float32bits(x)] = y
	return nil
}

func (a *Answers) find(x float32) (y float32, known bool) {
	if a == nil {
		return 0, false
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	y, known = a.known[math.Float32bits(x)]
	return y, known
}

// exp32 is the float32 nearest to e^x, for |x| <= 80. Where math.Exp comes so close to the middle of two float32 that
// its own error (below 2 ulp) could decide, double-double arithmetic does.
func exp32(x float32) float32 {
	y := math.Exp(float64(x))
	const (
		tail   = 1<<29 - 1 // the bits of a float64 that a float32 has not
		middle = 1 << 28
		doubt  = 16
	)
	if below := math.Float64bits(y)&tail - (middle - doubt); below <= 2*doubt {
		return expDoubleDouble(float64(x)).float32()
	}
	return float32(y)
}

// pair is an unevaluated sum hi + lo, |lo| at most half an ulp of hi: about 104 bits.
type pair struct{ hi, lo float64 }

// expDoubleDouble is e^x with an error below 2^-90: a Taylor series at x/1024, squared ten times.
func expDoubleDouble(x float64) pair {
	const halvings, terms = 10, 20
	small := math.Ldexp(x, -halvings)
	sum := pair{1, 0}
	for n := float64(terms); n >= 1; n-- { // Horner: 1 + small/1 * (1 + small/2 * (1 + ...))
		p := small / n
		rest := math.FMA(-p, n, small) / n
		sum = sum.mul(pair{p, rest}).add1()
	}
	for range halvings {
		sum = sum.mul(sum)
	}
	return sum
}

func (a pair) mul(b pair) pair {
	p := a.hi * b.hi
	return fast(p, math.FMA(a.hi, b.hi, -p)+(a.hi*b.lo+a.lo*b.hi))
}

// add1 is 1 + a for |a| < 1.
func (a pair) add1() pair {
	sum := fast(1, a.hi)
	return fast(sum.hi, sum.lo+a.lo)
}

// fast is a + b as a pair, for |a| >= |b|.
func fast(a, b float64) pair {
	hi := a + b
	return pair{hi, b - (hi - a)}
}

// float32 rounds once: hi is moved to odd where lo says that it is not the whole value.
func (a pair) float32() float32 {
	b := math.Float64bits(a.hi)
	if a.lo != 0 && b&1 == 0 {
		if a.lo > 0 {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}
