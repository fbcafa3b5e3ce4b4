package pipeline_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source"
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

// late is files that take so long to read.
type late struct {
	source.Files
	by time.Duration
}

func (l late) Read(ctx context.Context, i int, buf *source.Buffer) (source.Stamp, error) {
	time.Sleep(l.by)
	return l.Files.Read(ctx, i, buf)
}

// What a run does per image of 500 x 375, by random streams, and by how long each file takes to read:
//
//	go test ./tests_go/pipeline -run '^$' -bench Images -cpuprofile cpu -mutexprofile mutex
func BenchmarkImages(b *testing.B) {
	const n, batch, ahead = 256, 64, 8
	random := rand.New(rand.NewPCG(1, 1))
	photos := make([]photo, n)
	for i := range photos {
		photos[i] = photo{name: fmt.Sprint(i), file: smooth(size(500, 375), random), label: int64(i)}
	}
	p := training(n)
	p.Parts[0].Transforms = []plan.Transform{randomResizedCrop(224, 224, usualRatio), plan.RandomHorizontalFlip{P: 0.5}}
	p.Pillow.MaxPixels = 0
	for _, c := range []struct {
		streams int
		takes   time.Duration
	}{{1, 0}, {4, 0}, {4, 50 * time.Millisecond}} {
		b.Run(fmt.Sprintf("streams=%d/read=%v", c.streams, c.takes), func(b *testing.B) {
			l, err := pipeline.Open(p, late{store(b, photos), c.takes})
			require.NoError(b, err)
			defer func() { require.NoError(b, l.Close()) }()
			r := start(b, l, p, photos, pipeline.Options{Streams: c.streams})
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
