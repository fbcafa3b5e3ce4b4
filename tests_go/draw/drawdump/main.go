// Command drawdump draws recipes for a test that holds torchvision's own draws against them. Its standard input and
// output carry one JSON value a line:
//
//	in   {"plan": {...}, "part": 0, "state": torch generator state in base64, "sizes": [[width, height], ...]}
//	out  {"need_exp": x}                  answered by {"exp": torch.exp(x)}; any number of times
//	out  {"draws": [{"steps": [...], "size": [width, height], "refused": "..."}, ...],
//	      "state": ..., "random": ..., "steps_max": ..., "out": [width, height] or null}
//
// The state after a line's draws is in the reply; draws after a refused one go on from the state it left.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
)

type request struct {
	Plan  json.RawMessage
	Part  int
	State []byte
	Sizes [][2]int32
}

type drawn struct {
	Steps   []recipe.Step `json:"steps"`
	Size    [2]int32      `json:"size"`
	Refused string        `json:"refused,omitempty"`
}

type reply struct {
	Draws    []drawn `json:"draws"`
	State    []byte  `json:"state"`
	Random   bool    `json:"random"`
	StepsMax int     `json:"steps_max"`
}

func main() {
	if err := serve(json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "drawdump:", err)
		os.Exit(1)
	}
}

func serve(in *json.Decoder, out *json.Encoder) error {
	for in.More() {
		var q request
		if err := in.Decode(&q); err != nil {
			return err
		}
		answer, err := run(q, in, out)
		if err != nil {
			return err
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func run(q request, in *json.Decoder, out *json.Encoder) (*reply, error) {
	p, err := plan.Parse(q.Plan)
	if err != nil {
		return nil, err
	}
	program, err := draw.Compile(p.Parts[q.Part], p.RNG)
	if err != nil {
		return nil, err
	}
	var mt rng.MT19937
	if err := mt.LoadTorch(q.State); err != nil {
		return nil, err
	}
	source := &draw.Source{MT: &mt, Exp: &draw.Answers{}}
	r := &reply{Random: program.Random(), StepsMax: program.StepsMax(), State: make([]byte, rng.TorchStateBytes)}
	for _, size := range q.Sizes {
		d, err := one(program, recipe.Size{Width: size[0], Height: size[1]}, source, in, out)
		if err != nil {
			return nil, err
		}
		r.Draws = append(r.Draws, d)
	}
	return r, mt.StoreTorch(r.State)
}

func one(p *draw.Program, size recipe.Size, r *draw.Source, in *json.Decoder, out *json.Encoder) (drawn, error) {
	for {
		before := *r.MT
		steps, after, err := p.Draw(make([]recipe.Step, 0, p.StepsMax()), size, r)
		var refused *draw.Refused
		var need *draw.NeedExp
		switch {
		case errors.As(err, &need):
			*r.MT = before
			if err := out.Encode(map[string]float32{"need_exp": need.X}); err != nil {
				return drawn{}, err
			}
			var answer struct{ Exp float32 }
			if err := in.Decode(&answer); err != nil {
				return drawn{}, err
			}
			if err := r.Exp.Learn(need.X, answer.Exp); err != nil {
				return drawn{}, err
			}
		case errors.As(err, &refused):
			return drawn{Refused: refused.Text}, nil
		case err != nil:
			return drawn{}, err
		default:
			return drawn{Steps: steps, Size: [2]int32{after.Width, after.Height}}, nil
		}
	}
}
