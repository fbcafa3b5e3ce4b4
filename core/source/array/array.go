// Package array reads samples that are rows of arrays in memory: sample i of a field is row i of its array.
package array

import (
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/source"
)

// Field is one array, C-contiguous. Its memory is the caller's and stays alive as long as the source.
type Field struct {
	Data     unsafe.Pointer
	RowBytes int
}

// Array is a set of arrays with as many rows each. It implements source.Rows.
type Array struct {
	rows   int
	fields []Field
}

var _ source.Rows = (*Array)(nil)

// New makes a source of arrays with rows rows each.
func New(rows int, fields []Field) (*Array, error) {
	if rows < 0 {
		return nil, fmt.Errorf("array: %d rows", rows)
	}
	for i, f := range fields {
		if f.RowBytes < 0 || (f.Data == nil && rows*f.RowBytes > 0) {
			return nil, fmt.Errorf("array: field %d has no memory for %d rows of %d bytes", i, rows, f.RowBytes)
		}
	}
	return &Array{rows: rows, fields: fields}, nil
}

// Len is the number of rows.
func (a *Array) Len() int { return a.rows }

// CopyRows gathers rows of one field into dst.
func (a *Array) CopyRows(field int, samples []int64, dst []byte) {
	f := a.fields[field]
	n := f.RowBytes
	if n == 0 {
		return
	}
	all := unsafe.Slice((*byte)(f.Data), a.rows*n)
	for k, i := range samples {
		copy(dst[k*n:(k+1)*n], all[int(i)*n:(int(i)+1)*n])
	}
}
