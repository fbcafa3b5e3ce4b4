package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// near is a float64 that somebody else worked out, and by how much ours may differ from it: in another order, with fused
// multiply-adds or without, or by another library's sine. What is exact with both has no error.
type near struct{ v, e float64 }

const (
	rounding = 0x1p-52 // of one operation, and as much again for the rounding of errors
	ofSine   = 16      // so many roundings are a sine, a cosine or a tangent of any library
)

func exactly(v float64) near { return near{v, 0} }

func (a near) isZero() bool { return a.v == 0 && a.e == 0 }

func (a near) isOne() bool { return math.Abs(a.v) == 1 && a.e == 0 }

func (a near) times(b near) near {
	made := near{a.v * b.v, math.Abs(a.v)*b.e + math.Abs(b.v)*a.e + a.e*b.e}
	if !a.isZero() && !b.isZero() && !a.isOne() && !b.isOne() {
		made.e += math.Abs(made.v) * rounding
	}
	return made
}

// sum is of several numbers, in any order.
func sum(of ...near) near {
	var made near
	most, count := 0.0, 0
	for _, each := range of {
		if each.isZero() {
			continue
		}
		made.v, made.e = made.v+each.v, made.e+each.e
		most, count = most+math.Abs(each.v), count+1
	}
	if count > 1 {
		made.e += most * rounding * float64(count)
	}
	return made
}

func (a near) negative() near { return near{-a.v, a.e} }

// inverse is 1 / a; false where a may be 0.
func (a near) inverse() (near, bool) {
	size := math.Abs(a.v)
	if !(size > 2*a.e) {
		return near{}, false
	}
	made := near{1 / a.v, a.e / (size * (size - a.e))}
	if !a.isOne() {
		made.e += math.Abs(made.v) * rounding
	}
	return made, true
}

// single is the float32 nearest to it; false where that depends on the error.
func (a near) single() (float64, bool) {
	down, up := float32(a.v-a.e), float32(a.v+a.e)
	return float64(down), down == up
}

// ofAngle is a sine and the like of an angle in degrees.
func ofAngle(f func(float64) float64, degrees float64) near {
	radians := degrees * (math.Pi / 180)
	v := f(radians)
	if radians == 0 {
		return exactly(v)
	}
	return near{v, (math.Abs(v) + math.Abs(radians)) * rounding * ofSine}
}

type square [3][3]near

func (a square) times(b square) (made square) {
	for i := range made {
		for j := range made[i] {
			made[i][j] = sum(a[i][0].times(b[0][j]), a[i][1].times(b[1][j]), a[i][2].times(b[2][j]))
		}
	}
	return made
}

var unit = square{{exactly(1), {}, {}}, {{}, exactly(1), {}}, {{}, {}, exactly(1)}}

func shift(x, y float64) square {
	made := unit
	made[0][2], made[1][2] = exactly(x), exactly(y)
	return made
}

// albumentationsMatrix is create_affine_transformation_matrix in albumentations/augmentations/geometric/functional.py, for a
// shift that center gives there.
func albumentationsMatrix(translate, shear, scale [2]float64, rotate float64, size recipe.Size) square {
	x, y := float64(size.Width)/2-0.5, float64(size.Height)/2-0.5
	turn := math.Mod(rotate, 360)
	if turn < 0 {
		turn += 360
	}
	sine, cosine := ofAngle(math.Sin, turn), ofAngle(math.Cos, turn)
	sheared, turned, scaled := unit, unit, unit
	sheared[0][1], sheared[1][0] = ofAngle(math.Tan, shear[0]), ofAngle(math.Tan, shear[1])
	turned[0][0], turned[0][1], turned[1][0], turned[1][1] = cosine, sine, sine.negative(), cosine
	scaled[0][0], scaled[1][1] = exactly(scale[0]), exactly(scale[1])
	return shift(x, y).times(shift(translate[0], translate[1])).times(sheared).times(turned).times(scaled).times(shift(-x, -y))
}

// isUnit is numpy's allclose with a matrix that changes nothing; false, false where that depends on the error.
func (a square) isUnit() (is, known bool) {
	is = true
	for i, row := range a[:2] {
		for j, each := range row {
			off, most := math.Abs(each.v-unit[i][j].v), 1e-8+1e-5*unit[i][j].v
			doubt := each.e + rounding
			if off > most+doubt {
				return false, true
			}
			is = is && off < most-doubt
		}
	}
	return is, is
}

// inverted is the matrix from output to input, in float32, as cv2.warpAffine goes by it; false where rounding decides.
func (a square) inverted() (m [6]float64, known bool) {
	determinant := sum(a[0][0].times(a[1][1]), a[0][1].times(a[1][0]).negative())
	by, known := determinant.inverse()
	if !known {
		return m, false
	}
	across, along := a[0][1].times(by.negative()), a[1][0].times(by.negative())
	first, last := a[1][1].times(by), a[0][0].times(by)
	made := [6]near{
		first, across, sum(first.negative().times(a[0][2]), across.times(a[1][2]).negative()),
		along, last, sum(along.negative().times(a[0][2]), last.times(a[1][2]).negative()),
	}
	for k, each := range made {
		if m[k], known = each.single(); !known {
			return m, false
		}
	}
	return m, true
}

// Beyond these OpenCV's float32 and whole numbers do as they like: as _WARP_REACH in doors/recipe/hooks/opencv.py.
const (
	warpSideMax = 1 << 15
	warpReach   = 1 << 20
)

func reaches(m [3]float64, in recipe.Size) bool {
	return !(math.Abs(m[0])*float64(in.Width)+math.Abs(m[1])*float64(in.Height)+math.Abs(m[2]) < warpReach)
}

func compileAffineTo(t plan.AffineTo, channels uint8) (transform, error) {
	p, err := newPadding(t.Fill, t.PaddingMode, channels)
	if err != nil {
		return nil, err
	}
	args := []plan.Expr{t.Translate[0], t.Translate[1], t.Shear[0], t.Shear[1], t.Scale[0], t.Scale[1], t.Rotate}
	return compileReckoned(func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		matrix := albumentationsMatrix([2]float64(v), [2]float64(v[2:]), [2]float64(v[4:]), v[6], in)
		is, known := matrix.isUnit()
		if is && known {
			return dst, in, nil
		}
		m, settled := matrix.inverted()
		switch {
		case !known || !settled:
			f.fail("rounding decides on a matrix")
		case in.Width >= warpSideMax || in.Height >= warpSideMax || reaches([3]float64(m[:3]), in) || reaches([3]float64(m[3:]), in):
			f.fail(fmt.Sprintf("a matrix that leads far away: %v", m))
		default:
			step := recipe.Step{
				Kind: recipe.Affine, Filter: recipe.OpenCVLinear, Mode: p.mode, Fill: p.fill, Width: in.Width, Height: in.Height,
			}
			copy(step.Matrix[:], m[:])
			dst = append(dst, step)
		}
		return dst, in, nil
	}, args...)
}
