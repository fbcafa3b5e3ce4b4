package places_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/places"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

func placeOf(b []byte, label int64) places.Place {
	return places.Place{Data: unsafe.Pointer(unsafe.SliceData(b)), Bytes: int64(len(b)), Label: label}
}

func TestPlacesAreASourceOfFiles(t *testing.T) {
	sourcetest.Files(t, func(t *testing.T, files []sourcetest.File) source.Files {
		var table []places.Place
		for _, f := range files {
			table = append(table, placeOf(f.Bytes, f.Label))
		}
		return places.New(table)
	})
}

func TestATableMaySayOtherwiseForEveryBatch(t *testing.T) {
	table := make([]places.Place, 1)
	p := places.New(table)
	for label, content := range []string{"one", "", "another"} {
		table[0] = placeOf([]byte(content), int64(label))
		table[0].Height, table[0].Width = 3, int64(label)
		var buf source.Buffer
		stamp, err := p.Read(context.Background(), 0, &buf)
		require.NoError(t, err)
		require.Equal(t, source.Stamp{Bytes: int64(len(content))}, stamp)
		require.Equal(t, content, string(buf.Slice(0, buf.Len())))
		require.Equal(t, int64(label), p.Label(0))
		height, width := p.Size(0)
		require.Equal(t, []int64{3, int64(label)}, []int64{height, width})
		buf.Free()
	}
}
