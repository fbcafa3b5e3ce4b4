package pipeline_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/tensor"
)

// outcomeKind is how a batch ends.
type outcomeKind string

const (
	delivered outcomeKind = "delivered"
	broken    outcomeKind = "broken"  // Pillow raises for a sample
	refused   outcomeKind = "refused" // a transform raises for a sample
	uneven    outcomeKind = "uneven"  // default_collate raises: shapes differ
)

// outcome is what becomes of a batch.
type outcome struct {
	kind     outcomeKind
	pixels   []byte  // delivered: [n, channels, height, width]
	labels   []int64 // delivered
	out      recipe.Size
	position int    // broken, refused: the sample
	text     string // refused, uneven: what the error says
}

// model does what torch's workers do, one sample after the other: worker w takes batches w, w + N, w + 2N ...; in a
// batch it opens, decodes and transforms one sample after the other, drawing from its own generator, and the first
// that raises ends the batch.
type model struct {
	plan     *plan.Plan
	photos   []photo
	programs []*draw.Program
	streams  []rng.MT19937
	answers  draw.Answers
	sequence int
}

func newModel(p *plan.Plan, photos []photo, streams int, baseSeed uint64) *model {
	m := &model{plan: p, photos: photos}
	for _, part := range p.Parts {
		program, err := draw.Compile(part, p.RNG)
		if err != nil {
			panic(err)
		}
		m.programs = append(m.programs, program)
	}
	for w := range streams {
		m.streams = append(m.streams, rng.New(baseSeed+uint64(w)))
	}
	return m
}

// partOf finds a sample's part by counting.
func (m *model) partOf(index int64) int {
	for k, part := range m.plan.Parts {
		if index < part.Count {
			return k
		}
		index -= part.Count
	}
	panic("no such sample")
}

// torchExp stands for torch.exp: always the lower neighbour of the nearest float32, so that it shows whether it was
// asked.
func torchExp(x float32) float32 {
	return math.Nextafter32(float32(math.Exp(float64(x))), 0)
}

// batch is what becomes of the next batch.
func (m *model) batch(indices []int64) outcome {
	mt := &m.streams[m.sequence%len(m.streams)]
	m.sequence++
	got := outcome{kind: delivered}
	var sizes []recipe.Size
	for position, index := range indices {
		p, part := m.photos[index], m.partOf(index)
		if p.broken {
			return outcome{kind: broken, position: position}
		}
		steps, out, err := m.draw(part, p.size, mt)
		if no := (*draw.Refused)(nil); errors.As(err, &no) {
			return outcome{kind: refused, position: position, text: no.Text}
		} else if err != nil {
			panic(err)
		}
		sizes = append(sizes, out)
		o := m.plan.Output
		got.pixels = append(got.pixels,
			apply(m.plan.Parts[part].Table, o.Channels, o.DType.Size(), p.size, p.rgb, steps)...)
		got.labels = append(got.labels, p.label)
	}
	for k, s := range sizes {
		if c := m.plan.Output.Channels; s != sizes[0] {
			return outcome{kind: uneven, text: fmt.Sprintf(
				"stack expects each tensor to be equal size, but got [%d, %d, %d] at entry 0 and [%d, %d, %d] at entry %d",
				c, sizes[0].Height, sizes[0].Width, c, s.Height, s.Width, k)}
		}
		got.out = s
	}
	return got
}

// draw draws as if torch.exp could be called in the middle of it.
func (m *model) draw(part int, s recipe.Size, mt *rng.MT19937) ([]recipe.Step, recipe.Size, error) {
	for before := *mt; ; *mt = before {
		steps, out, err := m.programs[part].Draw(nil, s, &draw.Source{MT: mt, Exp: &m.answers})
		need := (*draw.NeedExp)(nil)
		if !errors.As(err, &need) {
			return steps, out, err
		}
		if err := m.answers.Learn(need.X, torchExp(need.X)); err != nil {
			panic(err)
		}
	}
}

// Plans. Tables differ from channel to channel and from part to part, so that a mix-up shows.

func floatTable(scale float32) (table []byte) {
	for c := range 3 {
		for v := range 256 {
			table = binary.LittleEndian.AppendUint32(table, math.Float32bits(float32(v)*scale+float32(1000*c)))
		}
	}
	return table
}

func byteTable() (table []byte) {
	for c := range 3 {
		for v := range 256 {
			table = append(table, byte(v^c))
		}
	}
	return table
}

func newPlan(o plan.Output, parts ...plan.Part) *plan.Plan {
	return &plan.Plan{
		Source: plan.Source{Kind: plan.Folder},
		Parts:  parts,
		Output: o,
		RNG:    plan.RNG{FMA: true},
		Pillow: plan.Pillow{PassOrder: plan.ShrinkFirst, MaxPixels: maxPixels},
	}
}

var (
	floats = plan.Output{DType: tensor.Float32, Channels: 3}
	bytes3 = plan.Output{DType: tensor.Uint8, Channels: 3}
)

func randomResizedCrop(height, width int32, ratio [2]float64) plan.RandomResizedCrop {
	return plan.RandomResizedCrop{
		Size: plan.HeightWidth{Height: height, Width: width}, Scale: [2]float64{0.08, 1}, Ratio: ratio,
		LogRatio: [2]float32{float32(math.Log(ratio[0])), float32(math.Log(ratio[1]))}, Filter: plan.Bilinear, API: plan.V1,
	}
}

var usualRatio = [2]float64{3. / 4, 4. / 3}

// training is what an image classifier trains with; every draw depends on the image's size.
func training(n int) *plan.Plan {
	return newPlan(floats, plan.Part{Count: int64(n), Table: floatTable(0.5),
		Transforms: []plan.Transform{randomResizedCrop(10, 12, usualRatio), plan.RandomHorizontalFlip{P: 0.5}}})
}

// cropping refuses images that are too small, after a first draw.
func cropping(n int) *plan.Plan {
	return newPlan(bytes3, plan.Part{Count: int64(n), Table: byteTable(), Transforms: []plan.Transform{
		plan.RandomHorizontalFlip{P: 0.5},
		plan.RandomCrop{
			Size: plan.HeightWidth{Height: 21, Width: 20}, Fill: []uint8{0}, PaddingMode: plan.Constant, API: plan.V1,
		},
	}})
}

// flipping leaves images as large as they are.
func flipping(n int) *plan.Plan {
	return newPlan(bytes3, plan.Part{Count: int64(n), Table: byteTable(),
		Transforms: []plan.Transform{plan.RandomVerticalFlip{P: 0.5}}})
}

// still draws nothing.
func still(n int) *plan.Plan {
	return newPlan(bytes3, plan.Part{Count: int64(n), Table: byteTable(),
		Transforms: []plan.Transform{plan.Resize{Size: []int32{9, 11}, Filter: plan.Bicubic}}})
}

// joined is two data sets one after the other, each with transforms of its own; there is an empty one between them.
func joined(n int) *plan.Plan {
	first := int64(n / 3)
	return newPlan(floats,
		plan.Part{Count: first, Table: floatTable(2), Transforms: []plan.Transform{randomResizedCrop(10, 12, usualRatio)}},
		plan.Part{Count: 0, Table: floatTable(9)},
		plan.Part{Count: int64(n) - first, Table: floatTable(3), Transforms: []plan.Transform{
			plan.RandomHorizontalFlip{P: 0.5}, plan.Resize{Size: []int32{10, 12}, Filter: plan.Box}}})
}
