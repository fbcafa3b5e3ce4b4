package collate

import (
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/tensor"
)

// documents is what attention wants to know of windows of Tokens tokens that have several documents in them: the place of
// each token in its document, int64 [rows, Tokens], and the tokens where documents begin, int32 [rows, Tokens + 1], the
// rest of which is Tokens (position_ids and cu_seqlens). A row is the window's tokens, of which EOS ends a document, or
// without EOS the tokens, in order, where documents begin; the window's first always does.
type documents plan.DocumentRows

func (d documents) specs(r *rows) []tensor.Spec {
	return []tensor.Spec{
		{DType: tensor.Int64, Shape: tensor.Shape{r.n, d.Tokens}},
		{DType: tensor.Int32, Shape: tensor.Shape{r.n, d.Tokens + 1}},
	}
}

func (documents) run(*rows, [][]byte, int, int) []byte { return nil }

func (d documents) put(r *rows, fields [][]byte, i int, row []byte) {
	places := int64s(fields[0])[i*d.Tokens:][:d.Tokens]
	begins := int32s(fields[1])[i*(d.Tokens+1):][:d.Tokens+1]
	begins[0] = 0
	n, last := 1, 0
	begin := func(at int) {
		if at > last && at < d.Tokens {
			count(places[last:at])
			begins[n], last = int32(at), at
			n++
		}
	}
	for k, value := range int64s(row) {
		switch {
		case d.EOS == nil:
			begin(int(value))
		case value == *d.EOS:
			begin(k + 1)
		}
	}
	count(places[last:])
	for ; n <= d.Tokens; n++ {
		begins[n] = int32(d.Tokens)
	}
}

func (documents) finish(*rows, [][]byte, int, int) {}
