package pipeline_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/madeup"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// madeUp is a storage that has photos by their names.
func madeUp(photos []photo) madeup.Store {
	return func(name string) []byte {
		for _, p := range photos {
			if filepath.Base(name) == p.name {
				return p.file
			}
		}
		return nil
	}
}

func TestANewStorageServesFolders(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(9, 1, mixed(good, asked)...), training(9)
	var paths []byte
	offsets, labels := []int64{0}, []int64{}
	for i, each := range photos {
		paths = append(append(paths, each.name...), 0)
		offsets, labels = append(offsets, int64(len(paths))), append(labels, int64(1000+i))
	}
	files, err := folder.New(madeUp(photos), paths, offsets, labels, nil)
	require.NoError(t, err)
	r := start(t, openLoader(t, p, files), p, photos, pipeline.Options{Workers: 2, Streams: 1})
	m := newModel(p, photos, 1, 0)
	batches := [][]int64{{0, 1, 2, 3, 4}, {8, 7, 6, 5}}
	for k, got := range r.epoch(batches, len(batches), nil) {
		requireOutcome(t, m.batch(batches[k]), got)
	}
}

func TestANewStorageServesRecipes(t *testing.T) {
	leakcheck.Check(t)
	photos := makePhotos(2, 1, "png", "missing")
	photos[1].size = photos[0].size
	fields := []recipe.Field{{Count: 2, DType: tensor.Uint8, Channels: 3, Size: photos[0].size, Table: byteTable()}}
	l, err := pipeline.OpenRecipes(recipePlan, madeUp(photos))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	r := start(t, l, recipePlan, photos, pipeline.Options{Workers: 2, Streams: 1})
	require.NoError(t, r.run.SubmitRecipes(message(t.TempDir(), photos, fields, [][]wish{{{photo: 0}, {photo: 1}}}), 16, nil, 0))
	require.Contains(t, r.question(pipeline.AskPixels).Reason, photos[0].name+" was changed since it was opened", "its stamp is another")
	require.NoError(t, r.run.Supply(photos[0].rgb, photos[0].size))
	require.Contains(t, r.question(pipeline.AskPixels).Reason, "nobody makes it up")
	require.NoError(t, second(r.run.Reject()))
}

func TestANewStorageServesArrays(t *testing.T) {
	leakcheck.Check(t)
	memory := sourcetest.Noise(100*8, 1)
	file, err := madeup.Store(func(string) []byte { return memory }).Open(t.Context(), "rows")
	require.NoError(t, err)
	row := tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}
	rows, err := array.New(100, []array.Field{{Row: row, Arrays: []array.Array{{File: file, Rows: 100, Strides: []int{8}}}}})
	require.NoError(t, err)
	p := &plan.Plan{Source: plan.Source{Kind: plan.Array, Fields: stacked(row)}, Parts: []plan.Part{{Count: 100}}}
	l := pipeline.OpenRows(p, rows)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	r := start(t, l, p, nil, pipeline.Options{Workers: 2, Streams: 1})
	r.submit(7, 99, 0)
	lease := r.deliver()
	var want []byte
	for _, i := range []int{7, 99, 0} {
		want = append(want, memory[8*i:8*i+8]...)
	}
	require.Equal(t, want, lease.Slot.Bytes()[:24])
	lease.Slot.Release()
}
