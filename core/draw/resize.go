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
	if err != nil {
		return dst, in, err
	}
	dst, to = resized(dst, in, to, t.filter)
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
