package draw

import (
	"fmt"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// resize is torchvision's Resize. Its size rule is _compute_resized_output_size in
// torchvision/transforms/functional.py.
type resize struct {
	size    []int32 // [shorter edge], [height, width], or empty
	longest int32   // 0 if there is none
	filter  recipe.Filter
}

func compileResize(t plan.Resize) (transform, error) {
	if len(t.Size) > 2 || (len(t.Size) == 0 && t.MaxSize == 0) {
		return nil, fmt.Errorf("size %v with max_size %d", t.Size, t.MaxSize)
	}
	filter, err := filterOf(t.Filter)
	return resize{t.Size, t.MaxSize, filter}, err
}

func (t resize) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	to, err := t.resized(in)
	return resizedTo(dst, in, to, err, t.filter)
}

// resizedTo is what a draw returns that resizes to a size, or that finds none.
func resizedTo(dst []recipe.Step, in, to recipe.Size, err error, filter recipe.Filter) ([]recipe.Step, recipe.Size, error) {
	if err != nil {
		return dst, in, err
	}
	dst, to = resized(dst, in, to, filter)
	return dst, to, nil
}

func (t resize) random() bool  { return false }
func (t resize) stepsMax() int { return 1 }

// resized is the size an image of size in gets. Products stay below 2^53 (plan limits sizes), so the quotients in
// float64 are Python's.
func (t resize) resized(in recipe.Size) (recipe.Size, error) {
	if len(t.size) == 2 {
		return recipe.Size{Width: t.size[1], Height: t.size[0]}, nil
	}
	short, long := float64(min(in.Width, in.Height)), float64(max(in.Width, in.Height))
	var newShort, newLong int64
	if len(t.size) == 0 {
		newLong = int64(t.longest)
		newShort = int64(float64(t.longest) * short / long)
	} else {
		newShort = int64(t.size[0])
		newLong = int64(float64(t.size[0]) * long / short)
		if limit := int64(t.longest); limit != 0 && newLong > limit {
			newShort, newLong = int64(float64(limit*newShort)/float64(newLong)), limit
		}
	}
	if in.Width <= in.Height {
		return sizeOf(plan.Resize{}.Op(), newShort, newLong)
	}
	return sizeOf(plan.Resize{}.Op(), newLong, newShort)
}

// randomResize is v2's RandomResize.
type randomResize struct {
	sizes  [2]int32
	filter recipe.Filter
}

func (t randomResize) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	size := t.sizes[0] + int32(r.MT.Randint(uint64(t.sizes[1]-t.sizes[0])))
	return resize{[]int32{size}, 0, t.filter}.draw(dst, in, r)
}

func (t randomResize) random() bool  { return true }
func (t randomResize) stepsMax() int { return 1 }

// randomShortestSize is v2's RandomShortestSize.
type randomShortestSize struct {
	sizes   []int32
	longest int32 // 0 if there is none
	filter  recipe.Filter
}

func (t randomShortestSize) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	size := t.sizes[r.MT.Randint(uint64(len(t.sizes)))]
	ratio := float64(size) / float64(min(in.Width, in.Height))
	if t.longest != 0 {
		ratio = min(ratio, float64(t.longest)/float64(max(in.Width, in.Height)))
	}
	to, err := sizeOf(plan.RandomShortestSize{}.Op(), int64(float64(in.Width)*ratio), int64(float64(in.Height)*ratio))
	return resizedTo(dst, in, to, err, t.filter)
}

func (t randomShortestSize) random() bool  { return true }
func (t randomShortestSize) stepsMax() int { return 1 }

// scaleJitter is v2's ScaleJitter.
type scaleJitter struct {
	plan.ScaleJitter
	filter recipe.Filter
}

func (t scaleJitter) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	scale := between(r, t.Scale)
	within := min(float64(t.Target[1])/float64(in.Height), float64(t.Target[0])/float64(in.Width))
	ratio := float32(within) * scale
	to, err := sizeOf(t.Op(), int64(float32(in.Width)*ratio), int64(float32(in.Height)*ratio))
	return resizedTo(dst, in, to, err, t.filter)
}

func (t scaleJitter) random() bool  { return true }
func (t scaleJitter) stepsMax() int { return 1 }

// between draws as low + torch.rand(1) * (high - low) does.
func between(r *Source, of [2]float64) float32 {
	return float32(r.MT.Rand()*float32(of[1]-of[0])) + float32(of[0])
}
