// Package pixels reads samples that are images in memory, not encoded in any way, with a label each: rows of uint8
// arrays.
package pixels

import (
	"context"
	"fmt"
	"sort"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/tensor"
)

// Images are those of one array. Their bytes come in the order of Shape, wherever strides put them.
type Images struct {
	Shape tensor.Shape // of one image, of uint8
	Array array.Array
}

// Pixels is a list of images, or each of them several times in a row. It implements source.Files.
type Pixels struct {
	parts  []part
	labels []int64
	times  int
}

var _ source.Files = (*Pixels)(nil)

type part struct {
	end, first int
	bytes      int
	rows       *array.Source
}

// New makes a source of images, one array after the other, of which each is there so many times. labels, one for each image,
// are kept, not copied.
func New(images []Images, labels []int64, times int) (*Pixels, error) {
	p := &Pixels{labels: labels, times: times}
	end := 0
	for i, each := range images {
		row := tensor.Spec{DType: tensor.Uint8, Shape: each.Shape}
		rows, err := array.New(each.Array.Rows, []array.Field{{Row: row, Arrays: []array.Array{each.Array}}})
		if err != nil {
			return nil, fmt.Errorf("pixels: part %d: %w", i, err)
		}
		p.parts = append(p.parts, part{first: end, end: end + each.Array.Rows, bytes: row.Bytes(), rows: rows})
		end += each.Array.Rows
	}
	if end != len(labels) {
		return nil, fmt.Errorf("pixels: %d images, %d labels", end, len(labels))
	}
	return p, nil
}

// Close does nothing: all memory is the caller's.
func (p *Pixels) Close() {}

// Len is the number of images, counted as often as they are there.
func (p *Pixels) Len() int { return p.times * len(p.labels) }

// Label is an image's class number.
func (p *Pixels) Label(i int) int64 { return p.labels[i/p.times] }

// Name is an image's place.
func (p *Pixels) Name(i int) string {
	i /= p.times
	k := p.part(i)
	return fmt.Sprintf("image %d of array %d", i-p.parts[k].first, k)
}

// Read appends an image's bytes to buf. Memory has no versions.
func (p *Pixels) Read(ctx context.Context, i int, buf *source.Buffer) (source.Stamp, error) {
	i /= p.times
	part := &p.parts[p.part(i)]
	room, err := buf.Room(part.bytes)
	if err != nil {
		return source.Stamp{}, fmt.Errorf("%s: %w", p.Name(i), err)
	}
	if err := part.rows.CopyRows(ctx, 0, []int64{int64(i - part.first)}, room); err != nil {
		return source.Stamp{}, fmt.Errorf("%s: %w", p.Name(i), err)
	}
	buf.Add(part.bytes)
	return source.Stamp{Bytes: int64(part.bytes)}, nil
}

func (p *Pixels) part(i int) int {
	return sort.Search(len(p.parts), func(k int) bool { return i < p.parts[k].end })
}
