package pipeline_test

import (
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// smooth is a JPEG of no detail, which takes little to decode: what a run itself costs weighs the more.
func smooth(s recipe.Size, random *rand.Rand) []byte {
	m := image.NewRGBA(image.Rect(0, 0, int(s.Width), int(s.Height)))
	r, g := random.IntN(256), random.IntN(256)
	for y := range int(s.Height) {
		for x := range int(s.Width) {
			m.Set(x, y, color.RGBA{uint8(r + x), uint8(g + y), uint8(x * y >> 6), 255})
		}
	}
	return jpegOf(m)
}

// What a run does per image of 500 x 375, by random streams and by what is drawn:
//
//	go test ./tests_go/pipeline -run '^$' -bench Images -cpuprofile cpu -mutexprofile mutex
func BenchmarkImages(b *testing.B) {
	const n, batch, ahead = 256, 64, 4
	random := rand.New(rand.NewPCG(1, 1))
	photos := make([]photo, n)
	for i := range photos {
		photos[i] = photo{name: fmt.Sprint(i), file: smooth(size(500, 375), random), label: int64(i)}
	}
	p := training(n)
	p.Parts[0].Transforms = []plan.Transform{randomResizedCrop(224, 224, usualRatio), plan.RandomHorizontalFlip{P: 0.5}}
	p.Pillow.MaxPixels = 0
	for _, streams := range []int{1, 4} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			l, err := pipeline.Open(p, store(b, photos))
			require.NoError(b, err)
			defer func() { require.NoError(b, l.Close()) }()
			r := start(b, l, p, photos, pipeline.Options{Streams: streams})
			indices := make([]int64, batch)
			submitted := 0
			submit := func() {
				for i := range indices {
					indices[i] = int64((submitted*batch + i) % n)
				}
				submitted++
				r.submit(indices...)
			}
			b.ReportAllocs()
			for range ahead {
				submit()
			}
			for done := 0; done < b.N; done += batch {
				submit()
				lease, _, err := r.next()
				require.NoError(b, err)
				lease.Slot.Release()
			}
			b.StopTimer()
			r.close()
		})
	}
}
