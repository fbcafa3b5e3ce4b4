package op_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
)

var (
	photo  = recipe.Size{Width: 500, Height: 375}
	crop   = recipe.Step{Kind: recipe.Crop, Left: 100, Top: 50, Width: 300, Height: 200}
	resize = recipe.Step{Kind: recipe.Resize, Filter: recipe.Bilinear, Width: 256, Height: 192}
	centre = recipe.Step{Kind: recipe.Crop, Left: 16, Top: 8, Width: 224, Height: 176}
	mirror = recipe.Step{Kind: recipe.HorizontalFlip}
	turn   = recipe.Step{Kind: recipe.VerticalFlip}
	border = recipe.Step{Kind: recipe.Pad, Left: 1, Top: 2, Right: 3, Bottom: 4, Mode: recipe.Reflect}
	grey   = recipe.Step{Kind: recipe.Grayscale, Channels: 3}
	bgr    = recipe.Step{Kind: recipe.Select, Channels: 3, Fill: [3]uint8{2, 1, 0}}
)

func TestStepsBecomeFewPasses(t *testing.T) {
	window := func(x, y, w, h int32) op.Window { return op.Window{X: x, Y: y, Width: w, Height: h} }
	all := window(0, 0, 500, 375)
	same := op.Pass{Kind: op.Resample, Src: all, Width: 500, Height: 375, Out: all}
	cropped := op.Pass{Kind: op.Resample, Src: window(100, 50, 300, 200), Width: 300, Height: 200, Out: window(0, 0, 300, 200)}
	resized := op.Pass{Kind: op.Resample, Src: all, Width: 256, Height: 192, Filter: 2, Out: window(0, 0, 256, 192)}
	padded := op.Pass{Kind: op.Pad, Left: 1, Top: 2, Right: 3, Bottom: 4, Mode: 2, Out: window(0, 0, 504, 381)}
	luma := op.Pass{Kind: op.Grey, Planes: 3}
	invert, invertTwice, half := op.Pass{Kind: op.Lookup}, op.Pass{Kind: op.Lookup}, op.Pass{Kind: op.Lookup}
	var inversion [3 * 256]byte
	for v := range 256 {
		for c := range 3 {
			inversion[256*c+v] = byte(255 - v)
			invert.Table[c][v], invertTwice.Table[c][v], half.Table[c][v] = byte(255-v), byte(v), byte(v/2)
		}
	}
	inverted := recipe.Step{Kind: recipe.Lookup, Table: &inversion}
	colourful := op.Pass{Kind: op.Saturation, Factor: 1.5}
	smooth := [2][recipe.SmoothMax]float64{{0.5, 0.25}, {1}}
	zoom := recipe.Step{Kind: recipe.Zoom, Width: 256, Height: 192, Scale: 0.5, Smooth: &smooth}
	zoomed := op.Pass{Kind: op.Zoom, Width: 256, Height: 192, Out: window(0, 0, 256, 192), Matrix: [8]float64{0.5}, Smooth: smooth}
	with := func(p op.Pass, change func(*op.Pass)) op.Pass { change(&p); return p }

	for name, c := range map[string]struct {
		steps []recipe.Step
		want  []op.Pass
	}{
		"nothing copies":          {nil, []op.Pass{same}},
		"steps without effect":    {[]recipe.Step{{Kind: recipe.Crop, Width: 500, Height: 375}, {Kind: recipe.Resize, Width: 500, Height: 375}, {Kind: recipe.Pad}}, []op.Pass{same}},
		"two flips vanish":        {[]recipe.Step{mirror, mirror}, []op.Pass{same}},
		"two flips before a pad":  {[]recipe.Step{turn, turn, border}, []op.Pass{padded}},
		"two flips around a grey": {[]recipe.Step{mirror, grey, mirror}, []op.Pass{luma}},
		"random resized crop": {[]recipe.Step{crop, resize, mirror}, []op.Pass{with(cropped, func(p *op.Pass) {
			p.Width, p.Height, p.Filter, p.Out, p.Flip = 256, 192, 2, window(0, 0, 256, 192), op.FlipHorizontal
		})}},
		"resize and centre crop": {[]recipe.Step{resize, centre}, []op.Pass{with(resized, func(p *op.Pass) { p.Out = window(16, 8, 224, 176) })}},
		"zoom, flip and crop": {[]recipe.Step{zoom, mirror, centre}, []op.Pass{with(zoomed, func(p *op.Pass) {
			p.Out, p.Flip = window(16, 8, 224, 176), op.FlipHorizontal
		})}},
		"a zoom of a part":           {[]recipe.Step{crop, zoom}, []op.Pass{cropped, zoomed}},
		"a zoom to the same size":    {[]recipe.Step{{Kind: recipe.Zoom, Width: 500, Height: 375, Smooth: &smooth}}, []op.Pass{same}},
		"crop behind flips":          {[]recipe.Step{mirror, turn, crop}, []op.Pass{with(cropped, func(p *op.Pass) { p.Src.Y, p.Flip = 125, op.FlipHorizontal|op.FlipVertical })}},
		"crops behind a flip resize": {[]recipe.Step{resize, mirror, centre, {Kind: recipe.Crop, Left: 4, Width: 200, Height: 100}}, []op.Pass{with(resized, func(p *op.Pass) { p.Out, p.Flip = window(36, 8, 200, 100), op.FlipHorizontal })}},
		"resize behind a flip":       {[]recipe.Step{mirror, resize}, []op.Pass{with(same, func(p *op.Pass) { p.Flip = op.FlipHorizontal }), resized}},
		"two resizes":                {[]recipe.Step{resize, {Kind: recipe.Resize, Width: 500, Height: 375}}, []op.Pass{resized, {Kind: op.Resample, Src: window(0, 0, 256, 192), Width: 500, Height: 375, Out: all}}},
		"random crop with padding":   {[]recipe.Step{border, crop, mirror}, []op.Pass{with(padded, func(p *op.Pass) { p.Out, p.Flip = window(100, 50, 300, 200), op.FlipHorizontal })}},
		"grey lets a crop pass":      {[]recipe.Step{grey, crop}, []op.Pass{cropped, luma}},
		"crop, grey, flip":           {[]recipe.Step{crop, grey, mirror}, []op.Pass{with(cropped, func(p *op.Pass) { p.Flip = op.FlipHorizontal }), luma}},
		"grey of others' weights":    {[]recipe.Step{{Kind: recipe.OpenCVGray, Channels: 1}}, []op.Pass{{Kind: op.Grey, Mode: op.GreyOpenCV, Planes: 1}}},
		"look-ups are one":           {[]recipe.Step{inverted, inverted}, []op.Pass{invertTwice}},
		"brightness is a look-up":    {[]recipe.Step{{Kind: recipe.Brightness, Factor: 0.5}}, []op.Pass{half}},
		"colour lets crops and flips pass": {
			[]recipe.Step{{Kind: recipe.Saturation, Factor: 1.5}, inverted, crop, mirror},
			[]op.Pass{with(cropped, func(p *op.Pass) { p.Flip = op.FlipHorizontal }), colourful, invert},
		},
		"contrast does not": {
			[]recipe.Step{{Kind: recipe.Contrast, Factor: 1.5}, crop}, []op.Pass{{Kind: op.Contrast, Factor: 1.5}, cropped},
		},
		"flips behind a quarter turn": {
			[]recipe.Step{{Kind: recipe.Rotate90}, mirror, turn},
			[]op.Pass{{Kind: op.Turn, Flip: op.FlipHorizontal | op.FlipVertical}},
		},
		"two flips behind a transform": {
			[]recipe.Step{{Kind: recipe.Affine, Width: 300, Height: 200}, mirror, mirror},
			[]op.Pass{{Kind: op.Affine, Width: 300, Height: 200}},
		},
		"grey twice":             {[]recipe.Step{grey, {Kind: recipe.Grayscale, Channels: 1}}, []op.Pass{{Kind: op.Grey, Planes: 1}}},
		"channels turned":        {[]recipe.Step{bgr, crop}, []op.Pass{cropped, {Kind: op.Select, Planes: 3, Fill: [4]uint8{2, 1}}}},
		"channels turned twice":  {[]recipe.Step{bgr, crop, bgr}, []op.Pass{cropped}},
		"one of turned channels": {[]recipe.Step{bgr, {Kind: recipe.Select, Channels: 1}}, []op.Pass{{Kind: op.Select, Planes: 1, Fill: [4]uint8{2}}}},
		"channels, grey, flip":   {[]recipe.Step{bgr, grey, mirror}, []op.Pass{with(same, func(p *op.Pass) { p.Flip = op.FlipHorizontal }), {Kind: op.Select, Planes: 3, Fill: [4]uint8{2, 1}}, luma}},
	} {
		t.Run(name, func(t *testing.T) {
			size := photo
			for _, step := range c.steps {
				size = step.Out(size)
			}
			got, out, err := op.Fuse(nil, photo, c.steps)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, size, out)

			other := op.Pass{Kind: op.Pad}
			room := append(make([]op.Pass, 0, 20), other)
			got, _, err = op.Fuse(room, photo, c.steps)
			require.NoError(t, err)
			require.Equal(t, append([]op.Pass{other}, c.want...), got, "passes that were there stay, and are left alone")
		})
	}
}

func TestStepsThatCannotBeAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		in   recipe.Size
		step recipe.Step
		want string
	}{
		"no image":         {recipe.Size{}, crop, "0x0"},
		"crop too far":     {photo, recipe.Step{Kind: recipe.Crop, Left: 201, Width: 300, Height: 1}, "leaves the image"},
		"crop overflowing": {photo, recipe.Step{Kind: recipe.Crop, Left: 1<<31 - 1, Width: op.PixelsMax, Height: 1}, "leaves the image"},
		"crop before":      {photo, recipe.Step{Kind: recipe.Crop, Left: -1, Width: 3, Height: 1}, "leaves the image"},
		"empty crop":       {photo, recipe.Step{Kind: recipe.Crop}, "0x0"},
		"empty resize":     {photo, recipe.Step{Kind: recipe.Resize, Width: 3}, "3x0"},
		"filter":           {photo, recipe.Step{Kind: recipe.Resize, Width: 3, Height: 3, Filter: 6}, "no filter 6"},
		"negative pad":     {photo, recipe.Step{Kind: recipe.Pad, Left: -1}, "negative"},
		"pad mode":         {photo, recipe.Step{Kind: recipe.Pad, Mode: 4}, "no padding mode 4"},
		"pad overflowing":  {photo, recipe.Step{Kind: recipe.Pad, Left: 1<<31 - 1, Right: 1<<31 - 1, Top: 1}, "pixels"},
		"grey as two":      {photo, recipe.Step{Kind: recipe.Grayscale, Channels: 2}, "2 channels"},
		"two channels":     {photo, recipe.Step{Kind: recipe.Select, Channels: 2}, "2 channels"},
		"no such channel":  {photo, recipe.Step{Kind: recipe.Select, Channels: 1, Fill: [3]uint8{3}}, "channel 3 of 3"},
		"no table":         {photo, recipe.Step{Kind: recipe.Lookup}, "table"},
		"endless factor":   {photo, recipe.Step{Kind: recipe.Contrast, Factor: float32(math.Inf(1))}, "factor"},
		"endless matrix":   {photo, recipe.Step{Kind: recipe.Affine, Width: 1, Height: 1, Matrix: [8]float64{math.NaN()}}, "matrix"},
		"transform filter": {photo, recipe.Step{Kind: recipe.Affine, Width: 1, Height: 1, Filter: recipe.Box}, "filter 4"},
		"grid filter":      {photo, recipe.Step{Kind: recipe.TorchAffine, Filter: recipe.Bicubic}, "filter 3"},
		"grid outside":     {photo, recipe.Step{Kind: recipe.TorchPerspective, Outside: 3}, "way 3"},
		"huge grid":        {photo, recipe.Step{Kind: recipe.TorchAffine, Matrix: [8]float64{1e39}}, "matrix"},
		"empty transform":  {photo, recipe.Step{Kind: recipe.Perspective}, "0x0"},
		"unknown":          {photo, recipe.Step{Kind: 77}, "kind 77"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := op.Fuse(nil, c.in, []recipe.Step{c.step})
			require.ErrorContains(t, err, c.want)
		})
	}
	for name, c := range map[string]struct {
		in    recipe.Size
		steps []recipe.Step
	}{
		"pad":             {photo, []recipe.Step{{Kind: recipe.Pad, Left: 1<<31 - 1, Right: 1<<31 - 1, Top: 1}}},
		"image":           {recipe.Size{Width: 1 << 16, Height: 1 << 15}, nil},
		"resize":          {photo, []recipe.Step{{Kind: recipe.Resize, Width: 1 << 20, Height: 1 << 20}, centre}},
		"transform":       {photo, []recipe.Step{{Kind: recipe.Affine, Width: 1 << 20, Height: 1 << 11}, centre}},
		"between passes":  {recipe.Size{Width: 1, Height: 1 << 30}, []recipe.Step{{Kind: recipe.Resize, Width: 2, Height: 3}}},
		"a side too much": {photo, []recipe.Step{{Kind: recipe.Pad, Bottom: 1<<31 - 1}, {Kind: recipe.Crop, Width: 1, Height: 1}}},
	} {
		_, _, err := op.Fuse(nil, c.in, c.steps)
		require.ErrorIs(t, err, op.ErrTooLarge, name)
	}
	var steps []recipe.Step
	for range op.PassesMax + 1 {
		steps = append(steps, border)
	}
	_, _, err := op.Fuse(nil, photo, steps)
	require.ErrorContains(t, err, fmt.Sprintf("%d passes", op.PassesMax+1))
}
