package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/plan"
)

// computed is a plan over a field that a program makes; tests spoil it by replacing pieces of its text.
const computed = `{"version": 1,
 "source": {"kind": "array", "fields": [{"dtype": "float32", "shape": [2, 3], "stored": "float32", "ragged": false,
   "views": [{"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "stack"}}],
   "program": {"inputs": [{"dtype": "int64", "shape": [3, 2], "vector": null}],
     "constants": [{"dtype": "float32", "shape": [], "data": "AACAPw=="}],
     "values": [{"dtype": "float32", "shape": [3, 2]}],
     "steps": [
       {"op": "cast", "watch": false, "taken": null, "shape": [6], "into": {"value": 2, "offset": 0, "strides": [1]},
        "from": [{"value": 0, "offset": 0, "strides": [1]}]},
       {"op": "mul", "watch": true, "taken": null, "shape": [2, 3], "into": {"value": 3, "offset": 0, "strides": [3, 1]},
        "from": [{"value": 2, "offset": 0, "strides": [1, 2]}, {"value": 1, "offset": 0, "strides": [0, 0]}]}]}}]},
 "parts": [{"count": 7, "transforms": [], "table": ""}],
 "output": null, "rng": null, "pillow": null, "seek_index": null}`

func TestAProgramOfAField(t *testing.T) {
	p, err := plan.Parse([]byte(computed))
	require.NoError(t, err)
	program := p.Source.Fields[0].Program
	require.Len(t, program.Steps, 2)
	require.Equal(t, plan.Place{Value: 2, Strides: []int{1, 2}}, program.Steps[1].From[0])
}

// No step reaches beyond a value, writes what is not its own, or reads the row.
func TestAProgramThatReachesBeyondItsValuesIsRefused(t *testing.T) {
	for _, c := range [][2]string{
		{`"offset": 0, "strides": [1, 2]`, `"offset": 1, "strides": [1, 2]`},
		{`"offset": 0, "strides": [1, 2]`, `"offset": 0, "strides": [-1, 2]`},
		{`"offset": 0, "strides": [1, 2]`, `"offset": 0, "strides": [1, 9223372036854775807]`},
		{`"offset": 0, "strides": [1, 2]`, `"offset": -1, "strides": [1, 2]`},
		{`"strides": [0, 0]`, `"strides": [0, 1]`},
		{`"strides": [0, 0]`, `"strides": [0]`},
		{`"value": 3, "offset": 0, "strides": [3, 1]`, `"value": 3, "offset": 0, "strides": [4, 1]`},
		{`"value": 3, "offset": 0`, `"value": 4, "offset": 0`},
		{`"value": 3, "offset": 0`, `"value": 0, "offset": 0`},
		{`"value": 3, "offset": 0`, `"value": 1, "offset": 0`},
		{`{"value": 0, "offset": 0, "strides": [1]}`, `{"value": 3, "offset": 0, "strides": [1]}`},
		{`"shape": [6]`, `"shape": [7]`},
		{`"shape": [6]`, `"shape": [-1]`},
		{`"AACAPw=="`, `"AACA"`},
		{`"AACAPw=="`, `"?"`},
		{`"watch": true`, `"watch": 1`},
		{`"ragged": false`, `"ragged": true`},
		{`"vector": null`, `"vector": 0`},
	} {
		text := strings.Replace(computed, c[0], c[1], 1)
		require.NotEqual(t, computed, text, c[0])
		_, err := plan.Parse([]byte(text))
		require.Error(t, err, c[1])
	}
}
