package plan_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/tensor"
)

var table = base64.StdEncoding.EncodeToString(make([]byte, 3*256*4))

// images is a plan over image files with every transform; tests spoil it by replacing pieces of its text.
var images = `{"version": 1,
 "source": {"kind": "folder"},
 "parts": [
  {"count": 10, "transforms": [
    {"op": "resize", "size": [256], "max_size": 400, "filter": "bicubic"},
    {"op": "resize", "size": null, "max_size": 300, "filter": "box"},
    {"op": "resize", "size": [20, 30], "max_size": null, "filter": "nearest"},
    {"op": "center_crop", "size": [7, 8]},
    {"op": "random_crop", "size": [5, 6], "padding": [1, 2, 3, 4], "pad_if_needed": true, "fill": [1, 2, 3],
     "padding_mode": "constant", "api": "v1"},
    {"op": "random_crop", "size": [5, 6], "padding": null, "pad_if_needed": false, "fill": [0],
     "padding_mode": "reflect", "api": "v2"},
    {"op": "random_resized_crop", "size": [224, 225], "scale": [0.08, 1], "ratio": [0.75, 1.3333333333333333],
     "log_ratio": [-0.28768208622932434, 0.28768211603164673], "filter": "bilinear", "api": "v2"},
    {"op": "random_horizontal_flip", "p": 0.5},
    {"op": "random_vertical_flip", "p": 1},
    {"op": "grayscale", "channels": 1},
    {"op": "pad", "padding": [0, 1, 2, 3], "fill": [9], "padding_mode": "edge"},
    {"op": "grayscale", "channels": 3},
    {"op": "steps", "steps": "AQI="},
    {"op": "random_apply", "p": 0.25, "transforms": [{"op": "center_crop", "size": [9, 9]}]},
    {"op": "color_jitter", "brightness": [0.5, 1.5], "contrast": null, "saturation": null, "hue": [-0.5, 0.5], "tensor": true, "fused": false},
    {"op": "augment", "rounds": 2, "choices": [{"leveled": true, "up": ["AQ==", ""], "down": ["Ag==", "Aw=="]}], "api": "v1"},
    {"op": "auto_augment", "policies": [[{"p": 1, "signed": true, "up": "", "down": "AQ=="},
      {"p": 0.5, "signed": false, "up": "Ag==", "down": ""}]], "api": "v2"}], "table": "` + table + `"},
  {"count": 0, "transforms": [
    {"op": "random_erasing", "p": 0.5, "scale": [0.02, 0.5], "log_ratio": [-1, 1], "table": 1, "noise": ""},
    {"op": "random_rotation", "degrees": [-9, 15.5], "expand": true, "center": null, "filter": "bilinear", "fill": [7]},
    {"op": "random_affine", "degrees": [0, 0], "translate": [0.25, 1], "scale": null, "shear": [[-5, 5], [1, 2]],
     "api": "v1", "center": [-1.5, 3], "filter": "nearest", "fill": [1]},
    {"op": "random_photometric_distort", "p": 0.5, "brightness": [0.5, 1], "contrast": [1, 1], "saturation": [0, 2],
     "hue": [-0.5, 0.25], "tensor": false, "fused": false},
    {"op": "random_channel_permutation"},
    {"op": "torch_grayscale", "channels": 3, "fused": true},
    {"op": "torch_blur", "api": "v2", "mkl": true, "lanes": 16, "across": [-1.5, 0, 1.5], "down": [0], "sigma": [0.5, 2]},
    {"op": "random_resize", "sizes": [30, 31], "filter": "bilinear"},
    {"op": "random_shortest_size", "sizes": [30, 20], "max_size": null, "filter": "box"},
    {"op": "random_shortest_size", "sizes": [30], "max_size": 40, "filter": "box"},
    {"op": "random_scale_jitter", "target": [7, 8], "scale": [0.5, 2], "filter": "nearest"},
    {"op": "random_zoom_out", "p": 0.25, "sides": [1, 4], "fill": [3]},
    {"op": "tensor_rotation", "degrees": [-8, 8], "api": "v2", "center": [1, 2], "filter": "bilinear", "fill": [7],
     "zeros": false, "fused": true, "fused_grid": false},
    {"op": "tensor_affine", "degrees": [0, 0], "translate": null, "scale": [1, 2], "shear": [], "api": "v2", "center": null,
     "filter": "nearest", "fill": [0], "zeros": true, "fused": false, "fused_grid": true},
    {"op": "to_numbers"},
    {"op": "over_numbers", "fill": [0.5, 1, 2], "transform": {"op": "random_erasing", "p": 1, "scale": [0, 1],
     "log_ratio": [0, 0], "table": 0, "noise": "torch.randn"}},
    {"op": "normalize", "mean": [0.5, 0, -1], "std": [0.25, 1, 3]}],
   "table": "` + table + table + `"}],
 "output": {"dtype": "float32", "channels": 3},
 "rng": {"fma": true, "correctly_rounded_exp": false},
 "pillow": {"pass_order": "tall_first", "max_pixels": 178956970, "decoders": ["webp", "tiff"]},
 "seek_index": {"bytes_max": 1048576, "path": "/cache/index"}}`

const arrays = `{"version": 1,
 "source": {"kind": "array", "fields": [{"dtype": "float32", "shape": [3, 4], "stored": "float32", "ragged": false, "views": [{"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "stack"}}]}, {"dtype": "int64", "shape": [], "stored": "uint16", "ragged": true, "views": [
   {"skip": 0, "drop": 1, "front": "AgAAAAAAAAADAAAAAAAAAA==", "back": "", "layout": {"kind": "pad", "batch_first": true, "value": "AQAAAAAAAAA=", "multiple_of": 8, "strips": 1, "lengths": true, "left": true}},
   {"skip": 1, "drop": 0, "front": "", "back": "", "layout": {"kind": "jagged"}}, {"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "pack"}},
   {"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "documents", "tokens": 5, "eos": 7}}]}]},
 "parts": [{"count": 7, "transforms": [], "table": ""}],
 "output": null, "rng": null, "pillow": null, "seek_index": null}`

// pairs is a plan over images whose targets are masks.
var pairs = `{"version": 1, "source": {"kind": "pairs"},
 "parts": [{"count": 4, "transforms": [], "table": "` + table + `", "target": {
   "mode": "P", "draws": "together", "read": "decoded",
   "transforms": [{"op": "resize", "size": [20, 30], "max_size": null, "filter": "torch_nearest"}],
   "table": "` + base64.StdEncoding.EncodeToString(make([]byte, 256*8)) + `"}}],
 "output": {"dtype": "float32", "channels": 3}, "target": {"dtype": "int64", "channels": 1},
 "rng": {"fma": true, "correctly_rounded_exp": false},
 "pillow": {"pass_order": "tall_first", "max_pixels": null, "decoders": []}, "seek_index": null}`

func TestAPlanOfPairsIsReadWhole(t *testing.T) {
	p, err := plan.Parse([]byte(pairs))
	require.NoError(t, err)
	require.Equal(t, plan.Output{DType: tensor.Int64, Channels: 1}, p.Target)
	require.Equal(t, &plan.Target{
		Mode: plan.Palette, Draws: plan.Together, Read: plan.Decoded, Table: make([]byte, 256*8),
		Transforms: []plan.Transform{plan.Resize{Size: []int32{20, 30}, Filter: plan.TorchNearest}},
	}, p.Parts[0].Target)
	refuse(t, pairs, []spoiled{
		{`"mode": "P"`, `"mode": "1"`, `parts[0].target.mode: want "P" or "L" or "RGB", got "1"`},
		{`"mode": "P"`, `"mode": "RGB"`,
			"parts[0].target.transforms: images end with 3 channels, but target.channels is 1"},
		{`"together"`, `"both"`, `parts[0].target.draws: want "apart" or "together", got "both"`},
		{`"read": "decoded"`, `"read": "late"`, `parts[0].target.read: want "opened" or "decoded" or "unread", got "late"`},
		{`"channels": 1}`, `"channels": 3}`,
			"parts[0].target.transforms: images end with 1 channels, but target.channels is 3"},
		{`"dtype": "int64"`, `"dtype": "int32"`, "parts[0].target.table: 2048 bytes, want 1024: 1 x 256 items of int32"},
		{`"target": {"dtype"`, `"aim": {"dtype"`, "target: missing"},
		{`"kind": "pairs"`, `"kind": "folder"`, "parts[0].target: unknown field"},
	})
}

const recipes = `{"version": 1, "source": {"kind": "recipe", "files": 9}, "parts": [],
 "output": null, "rng": null, "pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []},
 "seek_index": {"bytes_max": 1048576, "path": null}}`

func TestAPlanOfRecipesIsReadWhole(t *testing.T) {
	p, err := plan.Parse([]byte(recipes))
	require.NoError(t, err)
	require.Equal(t, &plan.Plan{
		Source: plan.Source{Kind: plan.Recipe, Files: 9}, Pillow: plan.Pillow{PassOrder: plan.ShrinkFirst},
		SeekIndex: &plan.SeekIndex{BytesMax: 1 << 20},
	}, p)
}

const stream = `{"version": 1, "source": {"kind": "stream", "files": 3, "images": [{"of": ["jpg", "png"], "output": {"dtype": "uint8",
 "channels": 1}, "transforms": [{"op": "grayscale", "channels": 1}], "table": "` + "%s" + `"}], "columns": [{"kind": "int", "of": ["cls"]},
 {"kind": "sample", "of": []}]}, "parts": [], "output": null, "rng": {"fma": true, "correctly_rounded_exp": false},
 "pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []}, "seek_index": null}`

func TestAPlanOfStreamsIsReadWhole(t *testing.T) {
	table := make([]byte, 256)
	text := fmt.Sprintf(stream, base64.StdEncoding.EncodeToString(table))
	p, err := plan.Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, &plan.Plan{
		Source: plan.Source{
			Kind: plan.Stream, Files: 3,
			Images: []plan.StreamImage{{
				Of: []string{"jpg", "png"}, Output: plan.Output{DType: tensor.Uint8, Channels: 1},
				Part: plan.Part{Transforms: []plan.Transform{plan.Grayscale{Channels: 1}}, Table: table},
			}},
			Columns: []plan.StreamColumn{{Kind: plan.NumberColumn, Of: []string{"cls"}}, {Kind: plan.WholeColumn}},
		},
		RNG: plan.RNG{FMA: true}, Pillow: plan.Pillow{PassOrder: plan.ShrinkFirst},
	}, p)
	for before, after := range map[string]string{
		`"kind": "sample"`: `"kind": "whole"`, `"parts": []`: `"parts": [{}]`, `"channels": 1},`: `"channels": 3},`, `["cls"]`: `[7]`,
	} {
		_, err := plan.Parse([]byte(strings.Replace(text, before, after, 1)))
		require.Error(t, err, after)
	}
}

func TestAnImagePlanIsReadWhole(t *testing.T) {
	p, err := plan.Parse([]byte(images))
	require.NoError(t, err)
	rgb := make([]byte, 3*256*4)
	require.Equal(t, &plan.Plan{
		Source: plan.Source{Kind: plan.Folder},
		Parts: []plan.Part{
			{Count: 10, Table: rgb, Transforms: []plan.Transform{
				plan.Resize{Size: []int32{256}, MaxSize: 400, Filter: plan.Bicubic},
				plan.Resize{MaxSize: 300, Filter: plan.Box},
				plan.Resize{Size: []int32{20, 30}, Filter: plan.Nearest},
				plan.CenterCrop{Size: plan.HeightWidth{Height: 7, Width: 8}},
				plan.RandomCrop{Size: plan.HeightWidth{Height: 5, Width: 6},
					Padding:     &plan.Sides{Left: 1, Top: 2, Right: 3, Bottom: 4},
					PadIfNeeded: true, Fill: []uint8{1, 2, 3}, PaddingMode: plan.Constant, API: plan.V1},
				plan.RandomCrop{Size: plan.HeightWidth{Height: 5, Width: 6}, Fill: []uint8{0},
					PaddingMode: plan.Reflect, API: plan.V2},
				plan.RandomResizedCrop{Size: plan.HeightWidth{Height: 224, Width: 225}, Scale: [2]float64{0.08, 1},
					Ratio: [2]float64{3. / 4, 4. / 3}, LogRatio: [2]float32{-0.28768209, 0.28768212},
					Filter: plan.Bilinear, API: plan.V2},
				plan.RandomHorizontalFlip{P: 0.5},
				plan.RandomVerticalFlip{P: 1},
				plan.Grayscale{Channels: 1},
				plan.Pad{Padding: plan.Sides{Top: 1, Right: 2, Bottom: 3}, Fill: []uint8{9}, PaddingMode: plan.Edge},
				plan.Grayscale{Channels: 3},
				plan.Steps{Wire: []byte{1, 2}},
				plan.RandomApply{P: 0.25, Transforms: []plan.Transform{plan.CenterCrop{Size: plan.HeightWidth{Height: 9, Width: 9}}}},
				plan.ColorJitter{Brightness: &[2]float64{0.5, 1.5}, Hue: &[2]float64{-0.5, 0.5}, Tensor: true},
				plan.Augment{Rounds: 2, API: plan.V1, Choices: []plan.Choice{
					{Leveled: true, Up: [][]byte{{1}, {}}, Down: [][]byte{{2}, {3}}}}},
				plan.AutoAugment{API: plan.V2, Policies: [][2]plan.PolicyStep{{
					{P: 1, Signed: true, Up: []byte{}, Down: []byte{1}}, {P: 0.5, Up: []byte{2}, Down: []byte{}}}}},
			}},
			{Count: 0, Table: make([]byte, 2*len(rgb)), Transforms: []plan.Transform{
				plan.RandomErasing{P: 0.5, Scale: [2]float64{0.02, 0.5}, LogRatio: [2]float32{-1, 1}, Table: 1},
				plan.RandomRotation{Degrees: [2]float64{-9, 15.5}, Expand: true,
					Placed: plan.Placed{Filter: plan.Bilinear, Fill: []uint8{7}}},
				plan.RandomAffine{Translate: &[2]float64{0.25, 1}, Shear: [][2]float64{{-5, 5}, {1, 2}}, API: plan.V1,
					Placed: plan.Placed{Center: &[2]float64{-1.5, 3}, Filter: plan.Nearest, Fill: []uint8{1}}},
				plan.RandomPhotometricDistort{P: 0.5, Brightness: [2]float64{0.5, 1}, Contrast: [2]float64{1, 1},
					Saturation: [2]float64{0, 2}, Hue: [2]float64{-0.5, 0.25}},
				plan.RandomChannelPermutation{},
				plan.TorchGrayscale{Channels: 3, Fused: true},
				plan.TorchBlur{API: plan.V2, MKL: true, Lanes: 16, Across: []float32{-1.5, 0, 1.5}, Down: []float32{0},
					Sigma: [2]float64{0.5, 2}},
				plan.RandomResize{Sizes: [2]int32{30, 31}, Filter: plan.Bilinear},
				plan.RandomShortestSize{Sizes: []int32{30, 20}, Filter: plan.Box},
				plan.RandomShortestSize{Sizes: []int32{30}, MaxSize: 40, Filter: plan.Box},
				plan.ScaleJitter{Target: [2]int32{7, 8}, Scale: [2]float64{0.5, 2}, Filter: plan.Nearest},
				plan.RandomZoomOut{P: 0.25, Sides: [2]float64{1, 4}, Fill: []uint8{3}},
				plan.TensorRotation{Degrees: [2]float64{-8, 8}, API: plan.V2,
					Placed:  plan.Placed{Center: &[2]float64{1, 2}, Filter: plan.Bilinear, Fill: []uint8{7}},
					Sampled: plan.Sampled{Fused: true}},
				plan.TensorAffine{
					RandomAffine: plan.RandomAffine{Scale: &[2]float64{1, 2}, API: plan.V2,
						Placed: plan.Placed{Filter: plan.Nearest, Fill: []uint8{0}}},
					Sampled: plan.Sampled{Zeros: true, FusedGrid: true}},
				plan.ToNumbers{},
				plan.OverNumbers{
					Transform: plan.RandomErasing{P: 1, Scale: [2]float64{0, 1}, Noise: plan.TorchRandn},
					Fill:      [3]float32{0.5, 1, 2},
				},
				plan.Normalize{Mean: [3]float32{0.5, 0, -1}, Std: [3]float32{0.25, 1, 3}},
			}},
		},
		Output: plan.Output{DType: tensor.Float32, Channels: 3},
		RNG:    plan.RNG{FMA: true},
		Pillow: plan.Pillow{
			PassOrder: plan.TallFirst, MaxPixels: 178956970, Decoders: []plan.Decoder{plan.WebP, plan.TIFF},
		},
		SeekIndex: &plan.SeekIndex{BytesMax: 1 << 20, Path: "/cache/index"},
	}, p)
}

func TestAPlanOfImagesInMemoryIsReadWhole(t *testing.T) {
	for layout, shape := range map[plan.Layout]tensor.Shape{
		plan.Flat: {4, 5}, plan.Interleaved: {4, 5, 3}, plan.Planar: {3, 4, 5},
	} {
		image := plan.Image{Layout: layout, Size: plan.HeightWidth{Height: 4, Width: 5}}
		channels := image.Channels()
		zeros := base64.StdEncoding.EncodeToString(make([]byte, channels*256))
		text := fmt.Sprintf(`{"version": 1, "source": {"kind": "pixels"},
 "output": {"dtype": "uint8", "channels": %d}, "rng": {"fma": true, "correctly_rounded_exp": false},
 "pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []}, "seek_index": null,
 "parts": [{"count": 2, "transforms": [], "table": %q, "image": {"layout": %q, "size": [4, 5]}}]}`, channels, zeros, layout)
		p, err := plan.Parse([]byte(text))
		require.NoError(t, err)
		require.Equal(t, &image, p.Parts[0].Image)
		require.Equal(t, shape, image.Shape())
		refuse(t, text, []spoiled{
			{`"size": [4, 5]`, `"size": [4, 0]`, "parts[0].image.size[1]: want an integer from 1 to 1048576, got 0"},
			{string(layout), "square", `parts[0].image.layout: want "interleaved" or "planar" or "flat", got "square"`},
			{`, "image": {`, `, "picture": {`, "parts[0].image: missing"},
			{`"seek_index": null`, `"seek_index": {}`, `seek_index: want null for a source of kind "pixels", got an object`},
		})
	}
}

func TestAPlanOfPlacesHasEncodedImagesOrALayout(t *testing.T) {
	text := fmt.Sprintf(`{"version": 1, "source": {"kind": "places"},
 "output": {"dtype": "uint8", "channels": 3}, "rng": {"fma": true, "correctly_rounded_exp": false},
 "pillow": {"pass_order": "shrink_first", "max_pixels": null, "decoders": []}, "seek_index": null,
 "parts": [{"count": 2, "transforms": [], "table": %q}]}`, base64.StdEncoding.EncodeToString(make([]byte, 3*256)))
	p, err := plan.Parse([]byte(text))
	require.NoError(t, err)
	require.Nil(t, p.Parts[0].Image)
	raw := strings.Replace(text, `"count": 2`, `"count": 2, "image": {"layout": "interleaved"}`, 1)
	p, err = plan.Parse([]byte(raw))
	require.NoError(t, err)
	require.Equal(t, &plan.Image{Layout: plan.Interleaved}, p.Parts[0].Image)
	refuse(t, raw, []spoiled{
		{`"interleaved"`, `"interleaved", "size": [4, 5]`, "parts[0].image.size: unknown field"},
		{`"interleaved"`, `"flat"`, "parts[0].transforms: images end with 1 channels, but output.channels is 3"},
	})
}

func TestAnArrayPlanIsReadWhole(t *testing.T) {
	eos := int64(7)
	p, err := plan.Parse([]byte(arrays))
	require.NoError(t, err)
	require.Equal(t, &plan.Plan{
		Source: plan.Source{Kind: plan.Array, Fields: []plan.Field{
			{Spec: tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{3, 4}}, Stored: tensor.Float32,
				Views: []plan.View{{Layout: plan.StackRows{}}}},
			{Spec: tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}, Stored: tensor.Uint16, Ragged: true,
				Views: []plan.View{
					{Drop: 1, Front: []byte{2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}, Layout: plan.PadRows{BatchFirst: true, Value: []byte{1, 0, 0, 0, 0, 0, 0, 0}, MultipleOf: 8, Strips: 1, Lengths: true, Left: true}},
					{Skip: 1, Layout: plan.JaggedRows{}},
					{Layout: plan.PackRows{}},
					{Layout: plan.DocumentRows{Tokens: 5, EOS: &eos}},
				}},
		}},
		Parts: []plan.Part{{Count: 7}},
	}, p)
}

// spoiled is a plan's text with one piece replaced, and how Parse complains of it.
type spoiled struct{ piece, instead, complaint string }

func refuse(t *testing.T, text string, cases []spoiled) {
	for _, c := range cases {
		require.Contains(t, text, c.piece)
		p, err := plan.Parse([]byte(strings.Replace(text, c.piece, c.instead, 1)))
		require.EqualError(t, err, "plan: "+c.complaint, "%s instead of %s", c.instead, c.piece)
		require.Nil(t, p)
		var where *plan.Error
		require.True(t, errors.As(err, &where))
	}
}

func TestWhatIsNotUnderstoodIsRefusedWithItsPlace(t *testing.T) {
	refuse(t, images, []spoiled{
		{`"version": 1`, `"version": 2`,
			"version: want 1, got the number 2: the library and the Python package do not belong together"},
		{`"version": 1,`, ``, "version: missing"},
		{`"version": 1,`, `"version": 1, "more": 3,`, "more: unknown field"},
		{`"version": 1,`, `"version": 1, "version": 1,`, "version: given twice"},
		{`"kind": "folder"`, `"kind": "folders"`, `source.kind: want "folder" or "pairs" or "pixels" or "pixel_views" or "places" or "array" or "recipe" or "script" or "stream", got "folders"`},
		{`"kind": "folder"`, `"kind": "folder", "fields": []`, "source.fields: unknown field"},
		{`"count": 10`, `"count": -1`, "parts[0].count: want an integer from 0 to 9223372036854775807, got -1"},
		{`"count": 10`, `"count": 1.0`, "parts[0].count: want an integer from 0 to 9223372036854775807, got 1.0"},
		{`"count": 0`, `"count": 9223372036854775807`, "parts[1]: more samples than an int64 counts"},
		{`"op": "center_crop"`, `"op": "centre_crop"`, `parts[0].transforms[3].op: unknown op "centre_crop"`},
		{`"op": "center_crop"`, `"op": 3`, "parts[0].transforms[3].op: want a string, got the number 3"},
		{`"op": "center_crop"`, `"op": "center_crop", "op2": 1`, "parts[0].transforms[3].op2: unknown field"},
		{`"size": [7, 8]`, `"size": [7]`, "parts[0].transforms[3].size: want 2 items, got 1"},
		{`"size": [7, 8]`, `"size": [7, 0]`,
			"parts[0].transforms[3].size[1]: want an integer from 1 to 1048576, got 0"},
		{`"size": [7, 8]`, `"size": 7`, "parts[0].transforms[3].size: want a list, got the number 7"},
		{`"size": [256]`, `"size": [1, 2, 3]`, "parts[0].transforms[0].size: want null or 1 or 2 items, got 3"},
		{`"size": [256]`, `"size": [400]`, "parts[0].transforms[0].max_size: want more than size, 400, got 400"},
		{`"max_size": 300`, `"max_size": null`, "parts[0].transforms[1].size: null without a max_size"},
		{`[20, 30], "max_size": null`, `[20, 30], "max_size": 9`,
			"parts[0].transforms[2].max_size: not together with height and width"},
		{`"filter": "box"`, `"filter": "Box"`,
			`parts[0].transforms[1].filter: want "nearest" or "lanczos" or "bilinear" or "bicubic" or ` +
				`"box" or "hamming" or "torch_bilinear" or "torch_bicubic" or "torch_nearest", got "Box"`},
		{`"padding": [1, 2, 3, 4]`, `"padding": [1, 2, 3, -4]`,
			"parts[0].transforms[4].padding[3]: want an integer from 0 to 1048576, got -4"},
		{`"pad_if_needed": true`, `"pad_if_needed": 1`,
			"parts[0].transforms[4].pad_if_needed: want true or false, got the number 1"},
		{`"fill": [1, 2, 3]`, `"fill": [1, 2, 256]`,
			"parts[0].transforms[4].fill[2]: want an integer from 0 to 255, got 256"},
		{`"fill": [1, 2, 3]`, `"fill": [1, 2]`, "parts[0].transforms[4].fill: 2 values for an image of 3 channels"},
		{`"fill": [9]`, `"fill": [9, 9, 9]`, "parts[0].transforms[10].fill: 3 values for an image of 1 channels"},
		{`"padding_mode": "edge"`, `"padding_mode": null`,
			"parts[0].transforms[10].padding_mode: want a string, got null"},
		{`"api": "v1"`, `"api": "v3"`, `parts[0].transforms[4].api: want "v1" or "v2", got "v3"`},
		{`"scale": [0.08, 1]`, `"scale": [1, 0.08]`,
			"parts[0].transforms[6].scale: want the lower end first, got 1 and 0.08"},
		{`"scale": [0.08, 1]`, `"scale": [-0.08, 1]`, "parts[0].transforms[6].scale[0]: want 0 to 1e+06, got -0.08"},
		{`"ratio": [0.75,`, `"ratio": [0,`,
			"parts[0].transforms[6].ratio[0]: want 5e-324 to 1.7976931348623157e+308, got 0"},
		{`"ratio": [0.75,`, `"ratio": [1e999,`, "parts[0].transforms[6].ratio[0]: 1e999 does not fit a float64"},
		{`-0.28768208622932434`, `-0.2876820862293244`,
			"parts[0].transforms[6].log_ratio: -0.2876820862293244 is not a float32"},
		{`"p": 0.5`, `"p": "0.5"`, "parts[0].transforms[7].p: want a number, got a string"},
		{`{"op": "grayscale", "channels": 3}`, `{"op": "grayscale", "channels": 2}`,
			"parts[0].transforms[11].channels: want 1 or 3, got 2"},
		{`"op": "grayscale", "channels": 3}`, `"op": "random_vertical_flip", "p": 0}`,
			"parts[0].transforms: images end with 1 channels, but output.channels is 3"},
		{`"lanes": 16`, `"lanes": 12`, "parts[1].transforms[6].lanes: want 8 or 16"},
		{`[-1.5, 0, 1.5]`, `[-1.5, 0]`, "parts[1].transforms[6].across: want an odd number of places, up to 31"},
		{`[-1.5, 0, 1.5]`, `[-99, 0, 1.5]`, "parts[1].transforms[6].across[0]: want places up to 31 around 0"},
		{`"sigma": [0.5, 2]`, `"sigma": [0, 2]`, "parts[1].transforms[6].sigma[0]: want 0.001 to 1e+06, got 0"},
		{`"AQI="`, `"A"`, "parts[0].transforms[12].steps: illegal base64 data at input byte 0"},
		{`{"op": "center_crop", "size": [9, 9]}`, `{"op": "grayscale", "channels": 1}`,
			"parts[0].transforms[13].transforms: they leave 1 channels of 3"},
		{`[0.5, 1.5]`, `[-1, 1.5]`, "parts[0].transforms[14].brightness[0]: want 0 to 1e+06, got -1"},
		{`[-0.5, 0.5]`, `[-0.5, 0.6]`, "parts[0].transforms[14].hue[1]: want -0.5 to 0.5, got 0.6"},
		{`"leveled": true`, `"leveled": false`, "parts[0].transforms[15].choices[0].up: 2 levels"},
		{`"down": ["Ag==", "Aw=="]`, `"down": ["Ag=="]`,
			"parts[0].transforms[15].choices[0].down: 1 levels, but 2 with the other sign"},
		{`"rounds": 2`, `"rounds": -1`, "parts[0].transforms[15].rounds: want an integer from 0 to 255, got -1"},
		{`"signed": false`, `"signed": 0`, "parts[0].transforms[16].policies[0][1].signed: want true or false, got the number 0"},
		{table, "AAAA", "parts[0].table: 3 bytes, want 3072: 3 x 256 items of float32"},
		{`"table": 1, "noise": ""}`, `"table": 2, "noise": ""}`, "parts[1].table: 6144 bytes, want 9216: 9 x 256 items of float32"},
		{`"table": 1, "noise": ""}`, `"table": -1, "noise": ""}`, "parts[1].transforms[0].table: want an integer from 0 to 255, got -1"},
		{`"degrees": [-9, 15.5]`, `"degrees": [15.5, -9]`, "parts[1].transforms[1].degrees: want the lower end first, got 15.5 and -9"},
		{`"translate": [0.25, 1]`, `"translate": [0.25, 2]`, "parts[1].transforms[2].translate[1]: want 0 to 1, got 2"},
		{`[[-5, 5], [1, 2]]`, `[[-5, 5], [1, 2], [3, 4]]`, "parts[1].transforms[2].shear: want at most 2 items, got 3"},
		{table, "AA?A", "parts[0].table: illegal base64 data at input byte 2"},
		{`"dtype": "float32"`, `"dtype": "float"`, `output.dtype: unknown dtype "float"`},
		{`"dtype": "float32", "channels": 3},`, `"dtype": "float32", "channels": 4},`, "output.channels: want an integer from 1 to 3, got 4"},
		{`"fma": true`, `"fma": null`, "rng.fma: want true or false, got null"},
		{`"tall_first"`, `""`, `pillow.pass_order: want "horizontal_first" or "tall_first" or "shrink_first", got ""`},
		{`178956970`, `0`, "pillow.max_pixels: want an integer from 1 to 9223372036854775807, got 0"},
		{`"path": "/cache/index"}}`, `"path": "/cache/index"}} 1`, "something follows the JSON value"},
		{`"path": "/cache/index"}}`, `"path": "/cache/index"`, "seek_index: not JSON: unexpected EOF"},
		{`"bytes_max": 1048576`, `"bytes_max": 0`,
			"seek_index.bytes_max: want an integer from 1 to 9223372036854775807, got 0"},
		{`"/cache/index"`, `""`, "seek_index.path: want null or the path of a file"},
		{`"pillow"`, `"pi` + "\xff" + `low"`, "not UTF-8"},
		{`"webp"`, `"jpeg"`, `pillow.decoders[0]: want "webp" or "bmp" or "gif" or "tiff", got "jpeg"`},
		{`"max_pixels": 178956970`, `"max_pixels": ` + strings.Repeat("[", 299),
			"pillow.max_pixels" + strings.Repeat("[0]", 126) + ": nested more than 128 deep"},
	})
	refuse(t, arrays, []spoiled{
		{`"dtype": "int64", "shape": []`, `"dtype": "int64", "shape": [-1]`,
			"source.fields[1].shape[0]: want an integer from 0 to 9223372036854775807, got -1"},
		{`"shape": [3, 4]`, `"shape": [9223372036854775807]`,
			"source.fields[0]: shape [9223372036854775807] of float32 has too many bytes"},
		{`"ragged": false`, `"ragged": true`, "source.fields[0].views[0].layout.kind: rows that differ in length are not stacked"},
		{`"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "stack"}`, `"skip": 2, "drop": 2, "front": "", "back": "", "layout": {"kind": "stack"}`,
			"source.fields[0].views[0]: 4 items less than rows [3, 4] have"},
		{`"ragged": true`, `"ragged": false`, "source.fields[1].views[0]: 1 items less than rows [] have"},
		{`"front": "AgAAAAAAAAADAAAAAAAAAA=="`, `"front": "AgAA"`, "source.fields[1].views[0].front: 3 bytes beside rows [] of int64"},
		{`"kind": "stack"`, `"kind": "heap"`, `source.fields[0].views[0].layout.kind: unknown layout "heap"`},
		{`"AQAAAAAAAAA="`, `"AQAA"`, "source.fields[1].views[0].layout.value: 3 bytes for one int64"},
		{`"AQAAAAAAAAA="`, `"?"`, "source.fields[1].views[0].layout.value: illegal base64 data at input byte 0"},
		{`"strips": 1`, `"strips": 0`, "source.fields[1].views[0].layout.strips: want an integer from 1 to 2147483647, got 0"},
		{`"multiple_of": 8`, `"multiple_of": 0`,
			"source.fields[1].views[0].layout.multiple_of: want an integer from 1 to 2147483647, got 0"},
		{`"tokens": 5`, `"tokens": 0`, "source.fields[1].views[3].layout.tokens: want an integer from 1 to 2147483646, got 0"},
		{`"shape": [], "stored"`, `"shape": [2], "stored"`, "source.fields[1].views[3].layout: want rows of int64, not of int64[2]"},
		{`"views": [{"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "stack"}}]`, `"views": []`, "source.fields[0].views: want at least one view"},
		{`"fields": [`, `"fields": [], "more": [`,
			"source.fields: want at least one field"},
		{`"transforms": []`, `"transforms": [{"op": "grayscale", "channels": 3}]`,
			"parts[0].transforms: want none for an array source"},
		{`"table": ""`, `"table": "AAAA"`, "parts[0].table: want an empty string for an array source"},
		{`"seek_index": null`, `"seek_index": {}`, `seek_index: want null for a source of kind "array", got an object`},
		{`"rng": null`, `"rng": {}`, `rng: want null for a source of kind "array", got an object`},
	})
}

func TestAWrongPlanOfRecipesIsRefused(t *testing.T) {
	refuse(t, recipes, []spoiled{
		{`"files": 9`, `"files": -1`, "source.files: want an integer from 0 to 2147483647, got -1"},
		{`"parts": []`, `"parts": [{}]`, "parts: want none since the source is of kind recipe"},
		{`"path": null`, `"path": "/cache/index"`, "seek_index: want no path since the source is of kind recipe"},
	})
}

func TestAnythingButAnObjectIsRefused(t *testing.T) {
	for text, complaint := range map[string]string{
		"":     "plan: not JSON: unexpected EOF",
		"null": "plan: want an object, got null",
		"[1]":  "plan: want an object, got a list of 1",
		"{":    "plan: not JSON: unexpected EOF",
		"{]":   "plan: not JSON: invalid character ']' after object key",
	} {
		_, err := plan.Parse([]byte(text))
		require.Error(t, err, text)
		require.Contains(t, err.Error(), complaint[:15], text)
	}
}

// Parse never panics, and what it takes stays within the limits that draws rely on.
func FuzzParse(f *testing.F) {
	f.Add([]byte(images))
	f.Add([]byte(arrays))
	f.Add([]byte(pairs))
	f.Add([]byte(strings.ReplaceAll(images, table, "")))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Parse(text)
		if err != nil {
			require.Nil(t, p)
			var where *plan.Error
			require.True(t, errors.As(err, &where))
			return
		}
		for _, part := range p.Parts {
			require.GreaterOrEqual(t, part.Count, int64(0))
			if p.Source.Kind == plan.Folder {
				require.NotEmpty(t, part.Table)
				require.Zero(t, len(part.Table)%(p.Output.Channels*256*p.Output.DType.Size()))
			}
		}
	})
}
