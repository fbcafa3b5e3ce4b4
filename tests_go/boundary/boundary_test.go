// Package boundary uses goloader from outside: a C program, compiled against goloader.h and linked with the shared
// library.
package boundary_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/tensor"
)

const header = "../../capi/goloader.h"

// program is the compiled C program, library what it is linked with: the one in the folder GOLOADER_LIBRARY, or one that is
// built here.
var program, library string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "boundary")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		commands, built := [][]string{}, os.Getenv("GOLOADER_LIBRARY")
		if built == "" {
			built = dir
			commands = append(commands, []string{"go", "build", "-buildmode=c-shared", "-trimpath", "-o", filepath.Join(dir, "libgoloader.so"), "../../capi"})
		}
		program, library = filepath.Join(dir, "main"), filepath.Join(built, "libgoloader.so")
		commands = append(commands, []string{"cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-I../../capi",
			"testdata/main.c", "-o", program, "-L" + built, "-lgoloader", "-Wl,-rpath," + built, "-lm", "-pthread"})
		for _, command := range commands {
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%v: %v\n%s", command, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// play runs a scenario and returns what it printed, a line each.
func play(t *testing.T, scenario, plan string, files ...string) []string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(at, []byte(plan), 0o600))
	command := exec.Command(program, append([]string{scenario, at}, files...)...)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	err := command.Run()
	require.NoError(t, err, "%s%s", out.String(), errors.String())
	require.Empty(t, errors.String(), "nothing is said behind the user's back")
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// folderPlan has no transforms, and stores pixels as they are.
func folderPlan(n int) string {
	var table []byte
	for range 3 {
		for v := range 256 {
			table = append(table, byte(v))
		}
	}
	return fmt.Sprintf(`{"version": 1, "source": {"kind": "folder"},
		"parts": [{"count": %d, "transforms": [], "table": "%s"}], "output": {"dtype": "uint8", "channels": 3},
		"rng": {"fma": true, "correctly_rounded_exp": false}, "pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []}, "seek_index": {"bytes_max": 1000000, "path": null}}`,
		n, base64.StdEncoding.EncodeToString(table))
}

const stack = `"ragged": false, "views": [{"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "stack"}}]`

const arrayPlan = `{"version": 1, "source": {"kind": "array",
	"fields": [{"dtype": "int32", "shape": [2], "stored": "int32", ` + stack + `}, {"dtype": "uint8", "shape": [], "stored": "uint8", ` + stack + `},
	{"dtype": "int32", "shape": [], "stored": "int32", "ragged": true, "views": [{"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "pad",
	"batch_first": true, "value": "CQAAAA==", "multiple_of": 2, "strips": 1, "lengths": true, "left": false}}]}]},
	"parts": [{"count": 4, "transforms": [], "table": ""}], "output": null, "rng": null, "pillow": null, "seek_index": null}`

// photo writes a small PNG whose bytes are told by n, and returns its path and its planes.
func photo(t *testing.T, n, width, height int) (path string, planes []byte) {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetNRGBA(x, y, color.NRGBA{R: byte(n), G: byte(10*n + x), B: byte(y), A: 255})
		}
	}
	for c := range 3 {
		for i := range width * height {
			planes = append(planes, m.Pix[4*i+c])
		}
	}
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, m))
	return write(t, fmt.Sprintf("%d.png", n), file.Bytes()), planes
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// requireNothingLives reads a line of gl_live.
func requireNothingLives(t *testing.T, line string) {
	t.Helper()
	live := map[string]int64{}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "live: ")), &live), line)
	for _, name := range []string{
		"handles", "slots_blocks", "slots_bytes", "files_blocks", "indexes_blocks", "worker_bytes", "workers",
	} {
		require.Contains(t, live, name)
	}
	for name, value := range live {
		require.Zero(t, value, name)
	}
}

// take removes and returns the first line.
func take(lines *[]string) string {
	line := (*lines)[0]
	*lines = (*lines)[1:]
	return line
}

func requireBatch(t *testing.T, lines *[]string, sequence int, width, height int, planes []byte, labels ...byte) {
	t.Helper()
	require.Equal(t, fmt.Sprint("sequence: ", sequence), take(lines))
	require.Equal(t, fmt.Sprintf("uint8[%d, 3, %d, %d]: %x", len(labels), height, width, planes), take(lines))
	var words []byte
	for _, label := range labels {
		words = append(words, label, 0, 0, 0, 0, 0, 0, 0)
	}
	require.Equal(t, fmt.Sprintf("int64[%d]: %x", len(labels), words), take(lines))
}

func TestTheHeaderIsPlainCAndPlainCPlusPlus(t *testing.T) {
	for _, language := range [][]string{
		{"cc", "-std=c11", "-x", "c"}, {"cc", "-std=c99", "-x", "c"},
		{"c++", "-std=c++11", "-x", "c++"}, {"c++", "-std=c++20", "-x", "c++"},
	} {
		for _, times := range []int{1, 2} {
			command := exec.Command(language[0],
				append(language[1:], "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I../../capi", "-")...)
			command.Stdin = strings.NewReader(strings.Repeat("#include \"goloader.h\"\n", times))
			out, err := command.CombinedOutput()
			require.NoError(t, err, "%v\n%s", language, out)
		}
	}
}

// The program links all functions in one scenario or another; here is that the list is whole.
func TestTheLibraryExportsWhatTheHeaderDeclares(t *testing.T) {
	text, err := os.ReadFile(header)
	require.NoError(t, err)
	var declared []string
	for _, m := range regexp.MustCompile(`(?m)^[a-z][\w *]*?\b\*?(gl_\w+)\(`).FindAllStringSubmatch(string(text), -1) {
		declared = append(declared, m[1])
	}
	require.Contains(t, declared, "gl_kernels")
	out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
	require.NoError(t, err)
	source, err := os.ReadFile("testdata/main.c")
	require.NoError(t, err)
	for _, name := range declared {
		require.Regexp(t, `(?m) T `+name+`$`, string(out))
		require.True(t, bytes.Contains(source, []byte(name+"(")), "%s is used in no scenario", name)
	}
}

func TestAProgramGetsItsBatches(t *testing.T) {
	a, pa := photo(t, 0, 3, 2)
	b, pb := photo(t, 1, 3, 2)
	c, pc := photo(t, 2, 3, 2)
	lines := play(t, "batches", folderPlan(3), a, b, c)
	requireNothingLives(t, take(&lines))
	requireBatch(t, &lines, 0, 3, 2, slices.Concat(pa, pb), 100, 101)
	requireBatch(t, &lines, 1, 3, 2, slices.Concat(pc, pa), 102, 100)
	require.Equal(t, "in lent memory: 1", take(&lines))
	require.Equal(t, "of nothing: 1 1 0", take(&lines))
	require.Equal(t, "gl_next(run, &batch, &ask, &error): 3", take(&lines))
	take(&lines) // gl_wait: the last batch's event may be read or not
	var stats struct {
		Batches, Samples int64
		Stages           map[string]struct{ Count int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(take(&lines), "stats: ")), &stats))
	require.EqualValues(t, 3, stats.Batches)
	require.EqualValues(t, 6, stats.Samples)
	require.EqualValues(t, 6, stats.Stages["decode"].Count)
	require.Contains(t, take(&lines), "gl_close(loader, &error): -3 1 runs of this loader are open")
	live := take(&lines)
	require.Contains(t, live, `"slots_blocks":1`, "the lease is left")
	require.Contains(t, live, `"handles":0`)
	requireBatch(t, &lines, 3, 3, 2, slices.Concat(pb, pc), 101, 102)
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestQuestionsCrossTheBoundary(t *testing.T) {
	strange := write(t, "strange.image", []byte("a format that only Pillow knows"))
	missing := filepath.Join(t.TempDir(), "missing.png")
	sound, planes := photo(t, 2, 2, 2)
	lines := play(t, "questions", folderPlan(3), strange, missing, sound)
	require.Equal(t, "news: 2", take(&lines))
	require.Equal(t, "ask: 1 position 0 sequence 0 index 0", take(&lines))
	require.Contains(t, take(&lines), "strange.image: not an image format")
	require.Contains(t, take(&lines), "-3 an image of 0x2 pixels: not a valid argument")
	require.Contains(t, take(&lines), "-3 an image of -2x-2 pixels: not a valid argument")
	require.Equal(t, "gl_answer_pixels(run, rgb, 2, 2, &error): 0", take(&lines))
	require.Equal(t, "news: 0", take(&lines))
	requireBatch(t, &lines, 0, 2, 2, []byte{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}, 100)
	require.Equal(t, "news: 2", take(&lines))
	require.Equal(t, "ask: 1 position 0 sequence 1 index 1", take(&lines))
	require.Equal(t, "gl_reject(run, &error): 0", take(&lines))
	require.Equal(t, "gl_reject(run, &error): -3 an answer, but no such question: not now", take(&lines))
	require.Equal(t, "news: 0", take(&lines))
	requireBatch(t, &lines, 2, 2, 2, planes, 102)
	require.Equal(t, "gl_answer_exp(run, 1.0f, 2.7182817f, &error): 0", take(&lines))
	require.Contains(t, take(&lines), "torch.exp(1) gave 3, more than 1 ulp from 2.7182817")
	require.Contains(t, take(&lines), "torch.exp(1) gave NaN, more than 1 ulp from 2.7182817")
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestErrorsHaveAKindAndAText(t *testing.T) {
	a, _ := photo(t, 0, 3, 2)
	b, _ := photo(t, 1, 2, 2)
	lines := play(t, "errors", folderPlan(2), a, b)
	for _, want := range []string{
		`-3 plan: version: missing`,
		`-3 plan: not JSON: invalid character 'o'`,
		`-3 a source of -1 samples: not a valid argument`,
		`the plan's parts have 2 samples, the source 1`,
		`-3 not a valid argument: folder: `,
		`long: -3`,
		`ends: 1, as long as possible or shorter: 1`,
		`without a place for the text: -3`,
		`0 random streams`,
		`index 99 at position 1: the source has 2 samples`,
		`-3 -1 indices, 0 bytes: not a valid argument`,
		`-3 1 indices, -1 bytes: not a valid argument`,
		`torch generator state: 8 bytes, want 5056`,
		`bytes of JSON do not fit 8: not a valid argument`,
		`bytes of JSON do not fit 0: not a valid argument`,
		`bytes of JSON do not fit 8: not a valid argument`,
		`-3 a permutation of -1: not a valid argument`,
		`-3 1 seeds after -1: not a valid argument`,
		`-3 -1 seeds after 0: not a valid argument`,
		`-3 no libwebp is there`,
		`-3 no MKL: not a valid argument`,
		`-7 stack expects each tensor to be equal size, but got [3, 2, 3] at entry 0 and [3, 2, 2] at entry 1`,
		`-7 stack expects each tensor to be equal size: the memory lent for batch 1 has 8 bytes, 72 are needed`,
		`next(run, &batch, &ask): 0`,
		`past the last dtype: 1 1 1`,
	} {
		require.Contains(t, take(&lines), want)
	}
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestAHandleThatIsNoneSaysSoEverywhere(t *testing.T) {
	a, _ := photo(t, 0, 3, 2)
	lines := play(t, "stale", folderPlan(1), a)
	forRun := []string{
		"gl_submit", "gl_submit_seeded", "gl_submit_recipes", "gl_lane_open", "gl_submit_next", "gl_asked_sample",
		"gl_leave_out", "gl_lane_state", "gl_next", "gl_answer_pixels", "gl_reject", "gl_answer_exp",
		"gl_rng_set", "gl_follow", "gl_states_set", "gl_asked_states", "gl_skip", "gl_position", "gl_resume", "gl_reset", "gl_doubts",
		"gl_doing",
	}
	forLoader := []string{"gl_start", "gl_stats"}
	requireAll := func(what string, names ...string) {
		require.Equal(t, what, take(&lines))
		for _, name := range names {
			require.Equal(t, name+": -2", take(&lines), what)
		}
	}
	forList := []string{"gl_files_wait", "gl_fetch_wait", "gl_cache_stats"}
	every := slices.Concat(forLoader, forRun, forList, []string{"gl_close"})
	for range 5 {
		requireAll("invented", every...)
	}
	requireAll("a loader as a run", append(slices.Clone(forRun), forList...)...)
	requireAll("a run as a loader", append(slices.Clone(forLoader), forList...)...)
	requireAll("a closed run", every...)
	requireAll("a closed loader", every...)
	require.Equal(t, "gl_close(loader, &error) == GL_BAD_HANDLE: 1", take(&lines))
	require.Equal(t, "used again: 0", take(&lines))
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestAForkIsToldSoByEveryFunction(t *testing.T) {
	a, planes := photo(t, 0, 2, 2)
	lines := play(t, "forks", folderPlan(1), a)
	for _, name := range []string{"gl_abi_version", "gl_dtype_name", "gl_kernels"} {
		require.Equal(t, name+": 1", take(&lines))
	}
	const text = "-4 this process was forked after goloader was loaded; " +
		"its loaders work only in the process that made them"
	for _, name := range []string{
		"gl_open", "gl_start", "gl_use_libwebp", "gl_use_mkl", "gl_files_list", "gl_shards_list", "gl_files_wait", "gl_array_headers", "gl_remote_use", "gl_observe",
		"gl_cache_open", "gl_cache_stats", "gl_cache_look", "gl_fetch", "gl_fetch_wait", "gl_submit", "gl_submit_seeded",
		"gl_submit_recipes", "gl_lane_open", "gl_submit_next", "gl_asked_sample", "gl_leave_out", "gl_lane_state", "gl_next",
		"gl_answer_pixels", "gl_reject", "gl_answer_exp", "gl_rng_set", "gl_follow",
		"gl_states_set", "gl_asked_states", "gl_skip", "gl_position", "gl_resume", "gl_reset", "gl_doubts", "gl_doing", "gl_events", "gl_close", "gl_close", "gl_join", "gl_settle", "gl_common", "gl_stats", "gl_live", "gl_permutation", "gl_seeds",
		"gl_weighted_open", "gl_balanced_open", "gl_shuffled_open", "gl_draw", "gl_mix", "gl_mix_up", "gl_cut_mix",
		"gl_augmentation_open", "gl_augmentation_draw",
	} {
		line := take(&lines)
		require.Regexp(t, "^"+name+`\(`, line)
		require.True(t, strings.HasSuffix(line, ": "+text), line)
	}
	require.Equal(t, "without a place for the text: -4", take(&lines))
	require.Equal(t, "gl_wait(pipes[0], 0): 0", take(&lines))
	require.Equal(t, "gl_wait(pipes[0], 0): 1", take(&lines))
	require.Equal(t, "kept: "+hex.EncodeToString(planes), take(&lines), "what the parent leased can be read")
	require.Equal(t, "released", take(&lines))
	require.Contains(t, take(&lines), "gl_live(json, sizeof json, &error): "+text)
	require.Equal(t, "child: 0", take(&lines))
	require.Equal(t, "parent: "+hex.EncodeToString(planes), take(&lines))
	require.Equal(t, "parent kept: "+hex.EncodeToString(planes), take(&lines), "the child's release is not the parent's")
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestRowsAndRandomNumbersCrossTheBoundary(t *testing.T) {
	lines := play(t, "rows", arrayPlan)
	require.Contains(t, take(&lines), ": row 2, 8 bytes from byte 12 on: the array has 19 bytes: unreadable")
	require.Equal(t, "pairs: 7 8 1 2 7 8", take(&lines))
	require.Equal(t, "bytes: 280a28", take(&lines))
	require.Equal(t, "padded to 4: 3 9 9 9 1 2 3 9 3 9 9 9; lengths: 1 3 1", take(&lines))
	require.Equal(t, "drawn: 0", take(&lines))
	require.Equal(t, "sequence: 0", take(&lines), "reset begins to count anew")
	require.Contains(t, take(&lines), ": unreadable: 1 bytes at byte 4 wanted, but the file has 2", "it was cut")
	mt, order := rng.New(42), make([]int64, 5)
	mt.Permute(order)
	require.Equal(t, "permutation: "+strings.Trim(fmt.Sprint(order), "[]"), take(&lines))
	mt = rng.New(42)
	require.Equal(t, fmt.Sprintf("seeds: %d skipped 1", mt.Random63()), take(&lines))
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

// scriptPlan has samples of one image and a number that is drawn; sample 1 is left to the caller.
func scriptPlan(n int) string {
	table := make([]byte, 0, 3*256)
	for range 3 {
		for v := range 256 {
			table = append(table, byte(v))
		}
	}
	return fmt.Sprintf(`{"version": 1, "source": {"kind": "script"}, "output": null, "parts": [{"count": %d, "script": {"files": [%d],
		"images": 1, "numbers": ["float"], "vectors": [], "tables": [], "generators": 0, "slots": 0, "noises": 0, "apart": false, "followed": false, "opens": [{"list": 0, "row": ["index"], "mode": "RGB", "plain": false, "reader": ""}], "first": [],
		"body": [{"do": "let", "number": 0, "value": ["python.random"]}, {"do": "if", "condition": ["==", ["index"], 1],
		"then": [{"do": "fail"}], "else": []}], "gives": [{"image": 0, "file": 0, "output": {"dtype": "uint8", "channels": 3},
		"table": "%s", "looks": null}], "columns": [0]}}], "rng": {"fma": true, "correctly_rounded_exp": false}, "pillow": {"pass_order": "shrink_first",
		"max_pixels": null, "decoders": []}, "seek_index": {"bytes_max": 1000000, "path": null}}`,
		n, n, base64.StdEncoding.EncodeToString(table))
}

func TestScriptsCrossTheBoundary(t *testing.T) {
	a, _ := photo(t, 0, 3, 2)
	b, _ := photo(t, 1, 3, 2)
	var python rng.MT19937
	state := make([]byte, rng.TorchStateBytes)
	state[8], state[12] = 1, 1
	for i := range 624 {
		state[24+8*i] = byte(7*i + 1)
	}
	require.NoError(t, python.LoadTorch(state))
	lines := play(t, "scripts", scriptPlan(2), a, b)
	require.Contains(t, take(&lines), "-1 15167 bytes of states, want 15168")
	require.Contains(t, take(&lines), "-1 stream 1 of 1")
	require.Equal(t, "gl_states_set(run, 0, states, sizeof states, &error): 0", take(&lines))
	require.Equal(t, fmt.Sprintf("drawn: %.17g", python.Random()), take(&lines))
	for _, want := range []string{
		"gl_asked_states(run, asked, sizeof asked, &error): -3", "news: 2", "ask: 4 sequence 1", "reason: ",
		"gl_reject(run, &error): -3", "-1 room for 15167 bytes", "gl_asked_states(run, asked, sizeof asked, &error): 0",
		"other generators stand where they were: 1", "-1 1 bytes of states",
		"gl_skip(run, asked, sizeof asked, &error): 0", "gl_skip(run, asked, sizeof asked, &error): -3",
	} {
		require.Contains(t, take(&lines), want)
	}
	require.Equal(t, fmt.Sprintf("drawn: %.17g", python.Random()), take(&lines))
	require.Equal(t, "words: 0 4 0", take(&lines))
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestSamplersCrossTheBoundary(t *testing.T) {
	lines := play(t, "samplers", arrayPlan)
	for _, want := range []string{
		": -3 weight 0 is -1: ", ": -3 -1 weights: ", ": -3 balanced sampler: 0 labels: ", ": -3 -1 labels: ",
		": -3 shuffled sampler: 0 samples: ",
		"weighted: 0 0", "numbered: 1", "shuffled: 1 4950",
		": -3 1 draws from -1 on, every 1: ", ": -3 1 draws from 0 on, every 0: ", ": -3 -1 draws from 0 on, every 1: ",
		": -2 ", "mixed: 6 2", ": -3 -1 draws from 2 sources: ", ": -3 source 1 has 0 samples: ",
	} {
		require.Contains(t, take(&lines), want)
	}
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestImagesAreMixedAndMemoryIsSharedAcrossTheBoundary(t *testing.T) {
	lines := play(t, "images", arrayPlan)
	for _, want := range []string{
		": -3 0 images of 2 items: ", "mixed up: 0.5 1.75 1.5 3.25", ": -3 ", "cut: 0.5 3.25 1.5 1.75", ": -3 0 bytes: ", "common: a",
	} {
		require.Contains(t, take(&lines), want)
	}
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestAugmentationsCrossTheBoundary(t *testing.T) {
	lines := play(t, "augmentations", arrayPlan)
	for _, want := range []string{
		": -3 plan: ", `: -3 plan: transforms[0].op: `, ": -3 no state for transforms that draw", ": -3 not a valid argument: torch generator state: ",
		": 1", "drawn: 3 x 4, 1 step of 32 bytes, kind 0, 2 words", "fixed: 3 x 4, 1 step", ": -2 ",
	} {
		require.Contains(t, take(&lines), want)
	}
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

// recipePlan has no source: batches bring their recipes along.
const recipePlan = `{"version": 1, "source": {"kind": "recipe", "files": 3}, "parts": [], "output": null, "rng": null,
	"pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []}, "seek_index": {"bytes_max": 1000000, "path": null}}`

// message is the wire form (core/recipe) of one field with the images of some paths, as they are.
func message(t *testing.T, width, height int, paths ...string) []byte {
	t.Helper()
	var sources, images, body []byte
	u32 := func(dst *[]byte, values ...int) {
		for _, v := range values {
			*dst = binary.LittleEndian.AppendUint32(*dst, uint32(v))
		}
	}
	for range 3 {
		for v := range 256 {
			body = append(body, byte(v))
		}
	}
	for i, path := range paths {
		u32(&sources, int(recipe.Path), width, height, len(body), len(path)+1)
		info, err := os.Stat(path)
		require.NoError(t, err)
		sources = binary.LittleEndian.AppendUint64(sources, 0)
		sources = binary.LittleEndian.AppendUint64(sources, math.MaxUint64) // all of it
		sources = binary.LittleEndian.AppendUint64(sources, uint64(info.Size()))
		sources = binary.LittleEndian.AppendUint64(sources, uint64(info.ModTime().UnixNano()))
		u32(&images, i, 0, 0, 0)
		body = append(body, path+"\x00"...)
	}
	whole := []byte("GLB2")
	u32(&whole, 1, len(paths), len(paths), 0, len(body))
	u32(&whole, len(paths), int(tensor.Uint8), 3, height, width, int(recipe.ChannelsFirst), 0, 3*256)
	return slices.Concat(whole, sources, images, body)
}

func TestRecipesCrossTheBoundary(t *testing.T) {
	a, pa := photo(t, 0, 2, 2)
	b, pb := photo(t, 1, 2, 2)
	strange := write(t, "strange.image", []byte("a format that only Pillow knows"))
	lines := play(t, "recipes", recipePlan,
		write(t, "1", message(t, 2, 2, a, b)), write(t, "2", message(t, 2, 2, b)), write(t, "3", message(t, 2, 2, strange, a)))
	require.Contains(t, take(&lines), "-3 indices for a loader without a source: not now")
	require.Contains(t, take(&lines), "-3 not a batch of recipes: it ends early: 4 bytes are left where 24 are needed")
	requireImages := func(sequence, n int, planes []byte) {
		require.Equal(t, fmt.Sprint("sequence: ", sequence), take(&lines))
		require.Equal(t, fmt.Sprintf("uint8[%d, 3, 2, 2]: %x", n, planes), take(&lines))
	}
	requireImages(0, 2, slices.Concat(pa, pb))
	requireImages(1, 1, pb)
	require.Equal(t, "ask: 1 index 0", take(&lines))
	require.Contains(t, take(&lines), "strange.image: not an image format")
	require.Contains(t, take(&lines), "-3 4x1 pixels for a recipe that is about 2x2: not now")
	requireImages(2, 2, slices.Concat([]byte{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}, pa))
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestStreamsCrossTheBoundary(t *testing.T) {
	a, pa := photo(t, 0, 2, 2)
	b, _ := photo(t, 1, 2, 2)
	c, pc := photo(t, 2, 2, 2)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	put := func(name string, content []byte) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o600}))
		_, err := w.Write(content)
		require.NoError(t, err)
	}
	for i, path := range []string{a, b, c} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		put(fmt.Sprintf("%d.png", i), content)
		put(fmt.Sprintf("%d.cls", i), []byte{"7x9"[i]})
	}
	require.NoError(t, w.Close())
	shard := write(t, "shard.tar", archive.Bytes())
	order, err := json.Marshal(map[string]any{"order": map[string]any{"shards": []string{shard}, "rounds": 1, "limit": -1}, "state": nil})
	require.NoError(t, err)
	table := make([]byte, 0, 3*256)
	for range 3 {
		for v := range 256 {
			table = append(table, byte(v))
		}
	}
	lines := play(t, "streams", fmt.Sprintf(`{"version": 1, "source": {"kind": "stream", "files": 0, "images": [{"of": ["jpg", "png"],
		"output": {"dtype": "uint8", "channels": 3}, "transforms": [], "table": "%s"}], "columns": [{"kind": "int", "of": ["cls"]},
		{"kind": "bytes", "of": ["__key__"]}]}, "parts": [], "output": null, "rng": {"fma": true, "correctly_rounded_exp": false},
		"pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []}, "seek_index": null}`,
		base64.StdEncoding.EncodeToString(table)), write(t, "order", order))
	for _, want := range []string{
		"-3 indices for a loader of streams: not now", "-3 lane 0 is not open: not now", "-3 order: unexpected EOF", "-3 lane 1 of 1: not now",
		"-3 lane 0 is open: not now", "-3 0 samples: not now", "-3 an answer, but no such question", "-3 an answer, but no such question",
		"news: 2", "ask: 2 position 1 index 1", `reason: ` + shard + `: sample "1": .cls holds no number`, "sample: ",
		"sequence: 0", fmt.Sprintf("uint8[2, 3, 2, 2]: %x", slices.Concat(pa, pc)), "int64[2]: 07000000000000000900000000000000",
		"int64[2]: 01000000000000000200000000000000", "uint8[2]: 3032",
		"gl_lane_state(run, 0, state, 1, &size, &error): 1", "gl_lane_state(run, 0, state, sizeof state, &size, &error): 0", "state: 1",
		"news: 5", "news: 5",
	} {
		require.Contains(t, take(&lines), want)
	}
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestListsOfFilesCrossTheBoundary(t *testing.T) {
	a, pa := photo(t, 0, 3, 2)
	b, pb := photo(t, 1, 3, 2)
	root := t.TempDir()
	for class, from := range map[string]string{"a": a, "b": b} {
		require.NoError(t, os.Mkdir(filepath.Join(root, class), 0o700))
		require.NoError(t, os.Rename(from, filepath.Join(root, class, "image.png")))
	}
	lines := play(t, "folders", folderPlan(2), root)
	require.Contains(t, take(&lines), "-3 -1 classes, 1 extensions: not a valid argument")
	require.Equal(t, `listed: 0, 2 files, indexed 0, notice ""`, take(&lines))
	require.Equal(t, "0 "+filepath.Join(root, "b", "image.png"), take(&lines))
	require.Equal(t, "1 "+filepath.Join(root, "a", "image.png"), take(&lines))
	require.Contains(t, take(&lines), `-3 1 headers of "none": not a valid argument`)
	about, err := os.Stat(filepath.Join(root, "b", "image.png"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("items: %d", about.Size()), take(&lines))
	require.Equal(t, `no array: ""`, take(&lines))
	requireBatch(t, &lines, 0, 3, 2, slices.Concat(pa, pb), 1, 0)
	require.Equal(t, "missing: 0, 0 files", take(&lines), "as os.walk has it")
	require.Contains(t, take(&lines), "-3 -1 archives, 1 suffixes: not a valid argument")
	require.Equal(t, "no archive: -11", take(&lines))
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestFetchesCrossTheBoundary(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bucket/":
			_, _ = io.WriteString(w, "<ListBucketResult><CommonPrefixes><Prefix>ab/</Prefix></CommonPrefixes></ListBucketResult>")
		case "/bucket/key":
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("12345"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	lines := play(t, "fetches", "", server.URL)
	require.Contains(t, take(&lines), `-3 settings of remote stores: there is no "s4": not a valid argument`)
	for _, line := range []string{
		"s3://bucket/key: 0", "bytes: 3132333435", "s3://bucket/key#: 0", "bytes: 3233", "s3://bucket/: 0", "bytes: 616200",
		"s3://bucket/none: -11",
	} {
		require.Equal(t, line, take(&lines))
	}
	require.Contains(t, take(&lines), `-3 -1 bytes from byte 0 on of "key": not a valid argument`)
	require.Contains(t, take(&lines), "-3 -1 bytes from byte 1 on of")
	require.Contains(t, take(&lines), "-3 -2 bytes from byte 0 on of")
	require.Contains(t, take(&lines), "-2 ", "there is no such cache")
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestPositionsCrossTheBoundary(t *testing.T) {
	a, pa := photo(t, 0, 3, 2)
	b, pb := photo(t, 1, 3, 2)
	lines := play(t, "positions", folderPlan(2), a, b)
	require.Contains(t, take(&lines), "room for 1 positions of streams, there are 2")
	require.Equal(t, "gl_position(run, drawn, 2, &error): 0", take(&lines))
	require.Equal(t, "drawn: 0 0", take(&lines), "the plan draws nothing")
	require.Contains(t, take(&lines), "-3 no room: not a valid argument")
	require.Equal(t, "gl_doing(run, doing, sizeof doing, &error): 0", take(&lines))
	require.Equal(t, `doing: ""`, take(&lines))
	require.Contains(t, take(&lines), "-3 1 batches were submitted before: not now")
	require.Contains(t, take(&lines), "batch -1")
	require.Contains(t, take(&lines), "-1 1 positions of streams, there are 2")
	require.Equal(t, "gl_resume(run, 7, drawn, 2, &error): 0", take(&lines))
	requireBatch(t, &lines, 7, 3, 2, slices.Concat(pa, pb), 100, 101)
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestSlotsCrossTheBoundary(t *testing.T) {
	const gone = "-2 slots: the batch is gone"
	lines := play(t, "slots", "")
	for _, want := range []string{
		"not slots: -3",
		"gl_slot_take(ours, BYTES, OWNER, &slot): 0",
		"slots 1 held 1 bytes 8192 of 24576",
		"gl_slot_lease(theirs, slot.number, slot.sequence, BYTES, &leased, &error): 0",
		"sent",
		gone,
		"slots 1 held 0 bytes 8192 of 24576",
		": 0",
		"the same slot: 1",
		"gl_slot_copy(theirs, more[0].number, more[0].sequence, text, sizeof text, &error): 0",
		"copied",
		gone,
		": 0", ": 0", ": 0", ": 1", // three slots fit
		"slots 3 held 3 bytes 24576 of 24576",
		"slots 3 held 0 bytes 24576 of 24576",
		"slots 0 held 0 bytes 0 of 24576",
	} {
		require.Contains(t, take(&lines), want)
	}
	require.Empty(t, lines)
}

// gl_batch has room for so many fields of so many dimensions, the batch's own included.
func TestAPlanThatDoesNotFitABatchIsRefused(t *testing.T) {
	field := func(ndim int) string {
		return `{"dtype": "uint8", "shape": [` + strings.TrimSuffix(strings.Repeat("1, ", ndim), ", ") + `], "stored": "uint8", ` + stack + `}`
	}
	plan := func(fields ...string) string {
		return fmt.Sprintf(`{"version": 1, "source": {"kind": "array", "fields": [%s]},
			"parts": [{"count": 1, "transforms": [], "table": ""}], "output": null, "rng": null, "pillow": null, "seek_index": null}`,
			strings.Join(fields, ", "))
	}
	for name, c := range map[string]struct {
		plan string
		fits bool
	}{
		"64 fields":           {plan(slices.Repeat([]string{field(0)}, 64)...), true},
		"65 fields":           {plan(slices.Repeat([]string{field(0)}, 65)...), false},
		"7 dimensions a row":  {plan(field(7)), true},
		"8 dimensions a row":  {plan(field(0), field(8)), false},
		"64 dimensions a row": {plan(field(64)), false},
	} {
		t.Run(name, func(t *testing.T) {
			lines := play(t, "shapes", c.plan)
			if c.fits {
				require.Contains(t, take(&lines), ": 0")
				require.Equal(t, "sequence: 0", take(&lines))
				lines = lines[len(lines)-1:]
			} else {
				require.Contains(t, take(&lines), ": -3 ")
			}
			requireNothingLives(t, take(&lines))
			require.Empty(t, lines)
		})
	}
}

func TestLeasesAreReleasedByAnyThread(t *testing.T) {
	a, _ := photo(t, 0, 8, 8)
	lines := play(t, "threads", folderPlan(1), a)
	require.Equal(t, "wrong: 0", take(&lines))
	require.Equal(t, "closed once: 1000", take(&lines))
	requireNothingLives(t, take(&lines))
	require.Empty(t, lines)
}

func TestAProgramMayEndWithARunAtWork(t *testing.T) {
	a, _ := photo(t, 0, 40, 40)
	for range 5 {
		require.Equal(t, []string{"leaves"}, play(t, "leaves", folderPlan(1), a))
	}
}
