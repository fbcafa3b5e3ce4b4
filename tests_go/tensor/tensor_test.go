package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/tensor"
)

func TestEveryDTypeIsFoundByItsName(t *testing.T) {
	sizes := map[tensor.DType]int{
		tensor.Uint8: 1, tensor.Int8: 1, tensor.Bool: 1, tensor.Uint16: 2, tensor.Int16: 2, tensor.Float16: 2,
		tensor.BFloat16: 2, tensor.Uint32: 4, tensor.Int32: 4, tensor.Float32: 4, tensor.Uint64: 8, tensor.Int64: 8,
		tensor.Float64: 8, tensor.Complex64: 8, tensor.Complex128: 16,
	}
	for d, size := range sizes {
		found, err := tensor.ParseDType(d.String())
		require.NoError(t, err)
		require.Equal(t, d, found)
		require.Equal(t, size, d.Size(), d)
		require.True(t, d.Valid())
	}
	for _, name := range []string{"", "float", "torch.float32", "Float32"} {
		_, err := tensor.ParseDType(name)
		require.ErrorContains(t, err, "unknown dtype")
	}
}

func TestTheZeroDTypeIsNone(t *testing.T) {
	var d tensor.DType
	require.False(t, d.Valid())
	require.Zero(t, d.Size())
	require.Equal(t, "dtype(0)", d.String())
	require.Error(t, tensor.Spec{}.Check())
}

func TestSpecCountsItsBytes(t *testing.T) {
	s := tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{3, 224, 224}}
	require.NoError(t, s.Check())
	require.Equal(t, 3*224*224*4, s.Bytes())
	require.Equal(t, "float32[3, 224, 224]", s.String())
	require.Equal(t, 8, tensor.Spec{DType: tensor.Int64}.Bytes(), "a scalar")
	require.Zero(t, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{5, 0}}.Bytes())
}

func TestSpecRefusesWhatNoMemoryHolds(t *testing.T) {
	for _, shape := range []tensor.Shape{
		{-1}, {math.MaxInt}, {1 << 31, 1 << 31}, {0, 1 << 62, 1 << 62}, {1 << 20, 1 << 20, 1 << 20, 1 << 20},
	} {
		require.Error(t, tensor.Spec{DType: tensor.Float32, Shape: shape}.Check(), shape)
	}
	require.NoError(t, tensor.Spec{DType: tensor.Bool, Shape: tensor.Shape{math.MaxInt}}.Check())
}
