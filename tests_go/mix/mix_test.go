package mix

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/goloader/goloader/core/mix"
)

// plainly is what Up makes, written into other memory.
func plainly[T float32 | float64](images []T, n int, rest, share T) []T {
	items := len(images) / n
	made := make([]T, len(images))
	for k, image := range images {
		before := images[(k+len(images)-items)%len(images)]
		one, other := T(before*rest), T(image*share) // conversions keep the compiler from fusing them
		made[k] = T(one + other)
	}
	return made
}

func testUp[T float32 | float64](t *testing.T) {
	for range 40 {
		n, items := 1+rand.IntN(6), 1+rand.IntN(3000)
		images := make([]T, n*items)
		for k := range images {
			images[k] = T(rand.NormFloat64() * 100)
		}
		share := T(rand.Float64())
		want := plainly(images, n, 1-share, share)
		if err := mix.Up(images, n, 1-share, share); err != nil || !slices.Equal(images, want) {
			t.Fatalf("%d images of %d items: other than mixed one by one, %v", n, items, err)
		}
	}
}

func TestEachImageIsMixedWithTheOneBefore(t *testing.T) {
	testUp[float32](t)
	testUp[float64](t)
}

func TestABoxOfEachImageIsThatOfTheOneBefore(t *testing.T) {
	for range 40 {
		n, planes, height, width := 1+rand.IntN(5), 1+rand.IntN(3), 1+rand.IntN(9), 1+rand.IntN(2000)
		left, top := rand.IntN(width+1), rand.IntN(height+1)
		box := mix.Box{Left: int64(left), Top: int64(top), Right: int64(left + rand.IntN(width-left+1)), Bottom: int64(top + rand.IntN(height-top+1))}
		images := make([]uint32, n*planes*height*width)
		for k := range images {
			images[k] = rand.Uint32()
		}
		want, image := slices.Clone(images), planes*height*width
		for k := range images {
			x, y := int64(k%width), int64(k/width%height)
			if x >= box.Left && x < box.Right && y >= box.Top && y < box.Bottom {
				want[k] = images[(k+len(images)-image)%len(images)]
			}
		}
		shape := [4]int64{int64(n), int64(planes), int64(height), int64(width)}
		if err := mix.Cut(bytesOf(images), shape, 4, box); err != nil || !slices.Equal(images, want) {
			t.Fatalf("%v, box %v: other than copied one by one, %v", shape, box, err)
		}
	}
}

func TestBatchesOfOtherShapesAreRefused(t *testing.T) {
	for _, n := range []int{-1, 0, 4} {
		if err := mix.Up(make([]float32, 6), n, 0.5, 0.5); !errors.Is(err, mix.ErrShape) {
			t.Errorf("6 items of %d images: %v", n, err)
		}
	}
	fits := mix.Box{Right: 3, Bottom: 2}
	for _, each := range []struct {
		bytes int
		shape [4]int64
		box   mix.Box
	}{
		{11, [4]int64{2, 1, 2, 3}, fits},
		{0, [4]int64{0, 1, 2, 3}, fits},
		{12, [4]int64{2, 1, 2, 3}, mix.Box{Right: 4, Bottom: 2}},
		{12, [4]int64{2, 1, 2, 3}, mix.Box{Right: 3, Bottom: 3}},
		{12, [4]int64{2, 1, 2, 3}, mix.Box{Left: -1, Right: 3, Bottom: 2}},
		{12, [4]int64{2, 1, 2, 3}, mix.Box{Top: -1, Right: 3, Bottom: 2}},
	} {
		if err := mix.Cut(make([]byte, each.bytes), each.shape, 1, each.box); !errors.Is(err, mix.ErrShape) {
			t.Errorf("%d bytes of %v, box %v: %v", each.bytes, each.shape, each.box, err)
		}
	}
}

func bytesOf(items []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(items))), 4*len(items))
}
