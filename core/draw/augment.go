package draw

import (
	"fmt"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// augment is torchvision's RandAugment or TrivialAugmentWide: some operation, at some level, with some sign.
type augment struct {
	rounds  int
	choices []choice
	api     plan.API
}

type choice struct {
	leveled  bool
	up, down []steps // a level each; down is empty where no sign is drawn
}

func compileAugment(t plan.Augment) (transform, error) {
	a := augment{rounds: t.Rounds, api: t.API}
	for i, c := range t.Choices {
		up, err := compileLevels(c.Up)
		if err != nil {
			return nil, fmt.Errorf("choices[%d].up: %w", i, err)
		}
		down, err := compileLevels(c.Down)
		if err != nil {
			return nil, fmt.Errorf("choices[%d].down: %w", i, err)
		}
		a.choices = append(a.choices, choice{c.Leveled, up, down})
	}
	return a, nil
}

func compileLevels(wires [][]byte) ([]steps, error) {
	levels := make([]steps, len(wires))
	for i, wire := range wires {
		var err error
		if levels[i], err = compileSteps(wire); err != nil {
			return nil, err
		}
	}
	return levels, nil
}

func (t augment) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	for range t.rounds {
		c := t.choices[r.MT.Randint(uint64(len(t.choices)))]
		level := uint64(0)
		if c.leveled {
			level = r.MT.Randint(uint64(len(c.up)))
		}
		levels := c.up
		if len(c.down) != 0 && drawsMinus(r, t.api) {
			levels = c.down
		}
		dst = append(dst, levels[level]...)
	}
	return dst, in, nil
}

// drawsMinus draws a sign: v1 by torch.randint(2, ...), v2 by torch.rand(()) <= 0.5.
func drawsMinus(r *Source, api plan.API) bool {
	if api == plan.V1 {
		return r.MT.Randint(2) == 1
	}
	return r.MT.Rand() <= 0.5
}

func (t augment) random() bool { return t.rounds > 0 }

func (t augment) stepsMax() int {
	longest := 0
	for _, c := range t.choices {
		for _, levels := range [2][]steps{c.up, c.down} {
			for _, level := range levels {
				longest = max(longest, len(level))
			}
		}
	}
	return t.rounds * longest
}

// autoAugment is torchvision's AutoAugment: one of some pairs of operations, each with its probability and level.
type autoAugment struct {
	policies [][2]policyStep
	api      plan.API
}

type policyStep struct {
	p        float32
	signed   bool
	up, down steps
}

func compileAutoAugment(t plan.AutoAugment) (transform, error) {
	a := autoAugment{api: t.API}
	for i, policy := range t.Policies {
		var halves [2]policyStep
		for k, half := range policy {
			up, err := compileSteps(half.Up)
			if err != nil {
				return nil, fmt.Errorf("policies[%d][%d].up: %w", i, k, err)
			}
			down, err := compileSteps(half.Down)
			if err != nil {
				return nil, fmt.Errorf("policies[%d][%d].down: %w", i, k, err)
			}
			halves[k] = policyStep{float32(half.P), half.Signed, up, down}
		}
		a.policies = append(a.policies, halves)
	}
	return a, nil
}

func (t autoAugment) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	policy := t.policies[r.MT.Randint(uint64(len(t.policies)))]
	if t.api == plan.V1 { // all numbers first, needed or not
		happens := [2]bool{r.MT.Rand() < policy[0].p, r.MT.Rand() < policy[1].p}
		minus := [2]bool{r.MT.Randint(2) == 0, r.MT.Randint(2) == 0}
		for i, half := range policy {
			if happens[i] {
				dst = half.add(dst, minus[i])
			}
		}
		return dst, in, nil
	}
	for _, half := range policy {
		if r.MT.Rand() < half.p {
			dst = half.add(dst, half.signed && drawsMinus(r, t.api))
		}
	}
	return dst, in, nil
}

func (s policyStep) add(dst []recipe.Step, minus bool) []recipe.Step {
	if s.signed && minus {
		return append(dst, s.down...)
	}
	return append(dst, s.up...)
}

func (t autoAugment) random() bool { return true }

func (t autoAugment) stepsMax() int {
	longest := 0
	for _, policy := range t.policies {
		both := 0
		for _, half := range policy {
			both += max(len(half.up), len(half.down))
		}
		longest = max(longest, both)
	}
	return longest
}
