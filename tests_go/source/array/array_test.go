package array_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

func TestAnArrayIsASourceOfRows(t *testing.T) {
	sourcetest.Rows(t, func(t *testing.T, n int, fields [][]byte) source.Rows {
		var described []array.Field
		for _, f := range fields {
			described = append(described, array.Field{Data: unsafe.Pointer(unsafe.SliceData(f)), RowBytes: len(f) / n})
		}
		a, err := array.New(n, described)
		require.NoError(t, err)
		return a
	})
}

func TestArraysWithoutRowsNeedNoMemory(t *testing.T) {
	a, err := array.New(0, []array.Field{{RowBytes: 8}})
	require.NoError(t, err)
	require.Zero(t, a.Len())
	a.CopyRows(0, nil, nil)
}

func TestArraysThatCannotBeAreRefused(t *testing.T) {
	memory := make([]byte, 8)
	good := array.Field{Data: unsafe.Pointer(&memory[0]), RowBytes: 8}
	for name, c := range map[string]struct {
		rows   int
		fields []array.Field
	}{
		"a negative number of rows": {-1, nil},
		"rows of negative size":     {1, []array.Field{{Data: good.Data, RowBytes: -1}}},
		"rows without memory":       {1, []array.Field{good, {RowBytes: 8}}},
	} {
		_, err := array.New(c.rows, c.fields)
		require.Error(t, err, name)
	}
}
