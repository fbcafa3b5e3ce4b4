package draw_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/plan"
)

// Lists [4], [], [5, 6] and the numbers 10, 20, 50; the lookups of a row are a sample's.
func TestLookupsInTables(t *testing.T) {
	lists := &plan.Table{Of: plan.Int, Starts: []int64{0, 1, 1, 3}, Values: []uint64{4, 5, 6}}
	numbers := &plan.Table{Of: plan.Int, Values: []uint64{uint64(math.MaxUint64 - 6), 20, 50}} // the first is -7
	row := func(kind plan.LookupKind, of *plan.Table, args ...plan.Expr) (int64, error) {
		s := &plan.Script{
			Files: []int64{100}, Images: 1,
			Opens: []plan.Open{{Row: plan.Lookup{Kind: kind, Table: of, Args: args, Of: plan.Int}, Mode: plan.Colour}},
		}
		made, err := draw.CompileScript(s, nil, plan.RNG{})
		require.NoError(t, err)
		rows := make([]int64, 1)
		err = made.First(made.NewFrame(), 2, *source(1), rows)
		return rows[0], err
	}
	for _, c := range []struct {
		kind plan.LookupKind
		of   *plan.Table
		args []plan.Expr
		want int64
	}{
		{plan.LookupItem, numbers, []plan.Expr{plan.IntValue(0)}, -7},
		{plan.LookupItem, numbers, []plan.Expr{plan.Index{}}, 50},
		{plan.LookupFind, numbers, []plan.Expr{plan.IntValue(-7)}, 0},
		{plan.LookupFind, numbers, []plan.Expr{plan.IntValue(50)}, 2},
		{plan.LookupLength, lists, []plan.Expr{plan.IntValue(1)}, 0},
		{plan.LookupLength, lists, []plan.Expr{plan.Index{}}, 2},
		{plan.LookupMember, lists, []plan.Expr{plan.Index{}, plan.IntValue(1)}, 6},
	} {
		got, err := row(c.kind, c.of, c.args...)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.kind)
	}
	for _, c := range []struct {
		kind plan.LookupKind
		of   *plan.Table
		args []plan.Expr
	}{
		{plan.LookupItem, numbers, []plan.Expr{plan.IntValue(3)}},
		{plan.LookupItem, numbers, []plan.Expr{plan.IntValue(-1)}},
		{plan.LookupFind, numbers, []plan.Expr{plan.IntValue(21)}},
		{plan.LookupFind, numbers, []plan.Expr{plan.IntValue(51)}},
		{plan.LookupLength, lists, []plan.Expr{plan.IntValue(3)}},
		{plan.LookupMember, lists, []plan.Expr{plan.IntValue(1), plan.IntValue(0)}},
		{plan.LookupMember, lists, []plan.Expr{plan.IntValue(0), plan.IntValue(-1)}},
		{plan.LookupMember, lists, []plan.Expr{plan.IntValue(-1), plan.IntValue(0)}},
	} {
		_, err := row(c.kind, c.of, c.args...)
		var refused *draw.Refused
		require.ErrorAs(t, err, &refused, c.kind)
	}
}
