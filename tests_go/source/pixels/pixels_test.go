package pixels_test

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/pixels"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// Each file is an array of one row: no two have to be of one size.
func TestPixelsAreASourceOfFiles(t *testing.T) {
	sourcetest.Files(t, func(t *testing.T, files []sourcetest.File) source.Files {
		var images []pixels.Images
		labels := []int64{}
		for _, f := range files {
			images = append(images, pixels.Images{Shape: tensor.Shape{len(f.Bytes)}, Array: array.Array{
				Data: unsafe.Pointer(unsafe.SliceData(f.Bytes)), Rows: 1, Strides: []int{0, 1},
			}})
			labels = append(labels, f.Label)
		}
		p, err := pixels.New(images, labels, 1)
		require.NoError(t, err)
		return p
	})
}

func TestImagesComeInTheOrderOfTheirShape(t *testing.T) {
	memory := sourcetest.Noise(2*4*5*3, 1) // two images, [4, 5, 3]
	planar := pixels.Images{Shape: tensor.Shape{3, 4, 5}, Array: array.Array{
		Data: unsafe.Pointer(&memory[0]), Rows: 2, Strides: []int{60, 1, 15, 3},
	}}
	none := pixels.Images{Shape: tensor.Shape{7}, Array: array.Array{Strides: []int{7, 1}}}
	p, err := pixels.New([]pixels.Images{none, planar}, []int64{8, 9}, 1)
	require.NoError(t, err)
	require.Equal(t, "image 1 of array 1", p.Name(1))
	var buf source.Buffer
	defer buf.Free()
	_, err = p.Read(context.Background(), 1, &buf)
	require.NoError(t, err)
	got := buf.Slice(0, buf.Len())
	require.Len(t, got, 60)
	for i := range got {
		c, y, x := i/20, i/5%4, i%5
		require.Equal(t, memory[60+15*y+3*x+c], got[i])
	}
}

func TestEachImageIsThereAsOftenAsAskedFor(t *testing.T) {
	memory := []byte{1, 2, 3}
	p, err := pixels.New([]pixels.Images{{Shape: tensor.Shape{1}, Array: array.Array{
		Data: unsafe.Pointer(&memory[0]), Rows: 3, Strides: []int{1, 1},
	}}}, []int64{7, 8, 9}, 2)
	require.NoError(t, err)
	require.Equal(t, 6, p.Len())
	for i := range 6 {
		var buf source.Buffer
		_, err = p.Read(context.Background(), i, &buf)
		require.NoError(t, err)
		require.Equal(t, []byte{memory[i/2]}, buf.Slice(0, buf.Len()))
		require.Equal(t, int64(7+i/2), p.Label(i))
		require.Equal(t, fmt.Sprintf("image %d of array 0", i/2), p.Name(i))
		buf.Free()
	}
}

func TestPixelsThatCannotBeAreRefused(t *testing.T) {
	_, err := pixels.New(nil, []int64{1}, 1)
	require.ErrorContains(t, err, "0 images, 1 labels")
	_, err = pixels.New([]pixels.Images{{Shape: tensor.Shape{1}, Array: array.Array{Rows: 1, Strides: []int{1, 1}}}}, []int64{1}, 1)
	require.ErrorContains(t, err, "part 0")
}
