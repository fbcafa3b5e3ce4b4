package collate

import "github.com/goloader/goloader/core/tensor"

// stack is torch.stack's: [rows, length, ...], or [rows] of numbers. All rows have one length.
type stack struct{ number bool }

func (s stack) specs(r *rows) []tensor.Spec {
	if s.number {
		return []tensor.Spec{of(r.item, r.n)}
	}
	return []tensor.Spec{of(r.item, r.n, r.longest)}
}

func (stack) run(r *rows, fields [][]byte, lo, hi int) []byte {
	row := r.longest * r.item.Bytes()
	return fields[0][lo*row : hi*row]
}

func (stack) put(r *rows, fields [][]byte, i int, row []byte) { copy(fields[0][i*len(row):], row) }

func (stack) finish(*rows, [][]byte, int, int) {}

// of is an array of items.
func of(item tensor.Spec, extents ...int) tensor.Spec {
	return tensor.Spec{DType: item.DType, Shape: append(extents, item.Shape...)}
}
