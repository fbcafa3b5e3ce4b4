package text_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/text"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// look is the header of a file of that content, and its numbers, float64 or float32.
func look(t testing.TB, written, content string) (string, []float64, error) {
	t.Helper()
	f, err := text.New(written)
	require.NoError(t, err)
	header, _, err := sourcetest.Array(t, f, []byte(content), 0, 0)
	if err != nil {
		return "", nil, err
	}
	var lines, columns int
	_, err = fmt.Sscan(header, &lines, &columns)
	require.NoError(t, err)
	size := 8
	if strings.HasPrefix(written, "float32") {
		size = 4
	}
	_, into, err := sourcetest.Array(t, f, []byte(content), 0, lines*columns*size)
	require.NoError(t, err)
	var found []float64
	for ; len(into) > 0; into = into[size:] {
		if size == 4 {
			found = append(found, float64(math.Float32frombits(binary.NativeEndian.Uint32(into))))
		} else {
			found = append(found, math.Float64frombits(binary.NativeEndian.Uint64(into)))
		}
	}
	return header, found, nil
}

func TestNumbersAreThoseOfStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var fields []string
	for range 3000 {
		x := math.Float64frombits(rng.Uint64())
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		format := "eEfgG"[rng.IntN(5)]
		if format == 'f' {
			x = math.Remainder(x, 1e6)
		}
		field := strconv.FormatFloat(x, format, rng.IntN(25)-1, 64)
		if _, err := strconv.ParseFloat(field, 64); err == nil { // it may have been rounded up to infinity
			fields = append(fields, field)
		}
	}
	fields = append(fields, "0", "-0", "+0.", ".0e5", "9007199254740993", "9007199254740992e22", "1e-400", "5e-324", "1e23", "00012")
	_, found, err := look(t, "float64:0:", strings.Join(fields, "\n"))
	require.NoError(t, err)
	require.Len(t, found, len(fields))
	for k, field := range fields {
		want, err := strconv.ParseFloat(field, 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(want), math.Float64bits(found[k]), field)
	}
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		written, content, header string
		numbers                  []float64
	}{
		"blanks":         {"float64:0:", "  1 \t2\n3 4  ", "2 2", []float64{1, 2, 3, 4}},
		"of Windows":     {"float64:0:,", "1, 2\r\n3 ,4\r\n", "2 2", []float64{1, 2, 3, 4}},
		"one column":     {"float64:0:,", "1\n2\n3\n", "3 1", []float64{1, 2, 3}},
		"lines before":   {"float64:2:;", "a, \"b\"\n#\n1;2\n3;4", "2 2", []float64{1, 2, 3, 4}},
		"single blanks":  {"float64:0: ", "1 2\n3 4\n", "2 2", []float64{1, 2, 3, 4}},
		"rounded twice":  {"float32:0:", "1.00000005960464477540\n16777217\n", "2 1", []float64{1, 16777216}},
		"the last float": {"float32:0:", "3.4028234663852886e38\n-1e-50", "2 1", []float64{math.MaxFloat32, math.Copysign(0, -1)}},
	} {
		header, numbers, err := look(t, c.written, c.content)
		require.NoError(t, err, name)
		require.Equal(t, c.header, header, name)
		require.Equal(t, c.numbers, numbers, name)
	}
}

func TestWhatIsNotReadHere(t *testing.T) {
	for name, c := range map[string][2]string{
		"nothing":              {"float64:0:", ""},
		"one line":             {"float64:0:", "1 2\n"},
		"a blank line":         {"float64:0:", "1\n\n2\n"},
		"a blank line behind":  {"float64:0:", "1\n2\n\n"},
		"no number":            {"float64:0:,", "1,2\n3,\n"},
		"a column more":        {"float64:0:,", "1\n2,3\n"},
		"two blanks":           {"float64:0: ", "1  2\n3  4\n"},
		"blanks within":        {"float64:0:,", "1 2,3\n4,5\n"},
		"a comment":            {"float64:0:", "1\n2 # x\n"},
		"no finite number":     {"float64:0:", "1\nnan\n"},
		"infinite":             {"float64:0:", "1\n1e309\n"},
		"infinite as a single": {"float32:0:", "1\n1e39\n"},
		"no digits":            {"float64:0:", "1\n-.\n"},
		"no exponent":          {"float64:0:", "1\n1e\n"},
		"two signs":            {"float64:0:", "1\n1e+-1\n"},
		"two points":           {"float64:0:", "1\n1.1.\n"},
		"an underscore":        {"float64:0:", "1\n1_1\n"},
		"hexadecimal":          {"float64:0:", "1\n0x1p3\n"},
		"a lone return":        {"float64:1:", "a\rb\n1\n2\n"},
		"no ASCII":             {"float64:0:", "1\n\u0661\n"},
	} {
		_, _, err := look(t, c[0], c[1])
		require.Error(t, err, name)
	}
	for _, written := range []string{"", "float64", "float64:", "int64:0:", "float64:-1:", "float64:0:ab"} {
		_, err := text.New(written)
		require.Error(t, err, written)
	}
}

// Whatever a line holds, it is refused or its fields are what strconv makes of them.
func FuzzFields(f *testing.F) {
	f.Add("1 2.5e3 -.5")
	f.Add("9007199254740993 1e23 0.3")
	f.Fuzz(func(t *testing.T, line string) {
		_, found, err := look(t, "float64:0:", line+"\n"+line)
		if err != nil {
			return
		}
		fields := strings.Fields(line + "\n" + line)
		require.Len(t, found, len(fields))
		for k, field := range fields {
			want, err := strconv.ParseFloat(field, 64)
			require.NoError(t, err)
			require.Equal(t, math.Float64bits(want), math.Float64bits(found[k]), field)
		}
	})
}
