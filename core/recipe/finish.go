package recipe

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/rng"
)

// Finish is arithmetic on a finished sample of float32, [channels, height, width]: each number by itself, on a stack of numbers.
// What each Term gives is rounded to float32, as by a function of torch's that takes whole tensors.
type Finish struct {
	Terms  []Term
	Noises []*Noise
}

// Noise is as many random numbers as a sample has.
type Noise struct {
	*rng.Noise
	Size     Size
	Channels int
	Pixels   bool // they follow each other pixel by pixel, else plane by plane
}

// Term is one step of a Finish.
type Term struct {
	Does   TermKind
	Noise  int32      // PushNoise: which one
	Values [3]float32 // those With numbers: one for each channel
}

// TermKind is what a Term does to the stack.
type TermKind int32

// The terms. In those of two numbers of the stack the upper one is the right one.
const (
	PushSample TermKind = iota // the sample's number
	PushNoise                  // the noise's
	Add
	Subtract
	Multiply
	Divide
	AddWith
	SubtractWith
	SubtractFrom // the number of the stack is taken off the other
	MultiplyWith
	DivideWith
	AtLeast // torch.clamp(min=)
	AtMost
	Set // the sample's number becomes the stack's only one
	TermKinds
)

// Limits of core/op's.
const (
	TermsMax  = 64
	NoisesMax = 4
	StackMax  = 4
)

func checkFinish(s Step) error {
	if s.Finish == nil {
		return fmt.Errorf("no arithmetic")
	}
	depth := 0
	for i, t := range s.Finish.Terms {
		switch {
		case t.Does < 0 || t.Does >= TermKinds || (t.Does == PushNoise && int(t.Noise) >= len(s.Finish.Noises)):
			return fmt.Errorf("term %d is none", i)
		case t.Does <= PushNoise:
			depth++
		case t.Does <= Divide || t.Does == Set:
			depth--
		}
		low := 1
		if t.Does == Set {
			low = 0
		}
		if depth < low || depth > StackMax || (t.Does == Set && depth != 0) {
			return fmt.Errorf("term %d leaves %d numbers", i, depth)
		}
		for _, v := range t.Values {
			if math.IsNaN(float64(v)) {
				return fmt.Errorf("term %d with %v", i, v)
			}
		}
	}
	if depth != 0 || len(s.Finish.Terms) == 0 {
		return fmt.Errorf("arithmetic that leaves %d numbers", depth)
	}
	return nil
}
