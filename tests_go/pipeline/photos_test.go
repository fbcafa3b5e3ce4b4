package pipeline_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	jpegdecoder "github.com/goloader/goloader/core/decode/jpeg"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/core/source/local"
)

// photo is one file and what a Python that opens it gets: the truth that a run must come to, by itself or by asking.
type photo struct {
	name   string
	file   []byte // nil: there is no such file
	label  int64
	size   recipe.Size // in pixels, as Pillow has it
	rgb    []byte      // as Pillow has it, interleaved
	broken bool        // Pillow raises
}

// maxPixels stands for PIL.Image.MAX_IMAGE_PIXELS in these tests.
const maxPixels = 5000

func size(width, height int) recipe.Size {
	return recipe.Size{Width: int32(width), Height: int32(height)}
}

func noise(s recipe.Size, random *rand.Rand) []byte {
	rgb := make([]byte, 3*s.Width*s.Height)
	for i := range rgb {
		rgb[i] = byte(random.Uint32())
	}
	return rgb
}

func toImage(s recipe.Size, rgb []byte) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, int(s.Width), int(s.Height)))
	for i := range int(s.Width) * int(s.Height) {
		copy(m.Pix[4*i:], rgb[3*i:3*i+3])
		m.Pix[4*i+3] = 255
	}
	return m
}

func pngOf(s recipe.Size, rgb []byte) []byte {
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&file, toImage(s, rgb)); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// bmpOf is a file that goloader knows the size of but leaves to Pillow: 24 bits a pixel, rows from the bottom, padded
// to 4 bytes.
func bmpOf(s recipe.Size, rgb []byte) []byte {
	const header = 14 + 40
	stride := (3*int(s.Width) + 3) &^ 3
	file := make([]byte, header+stride*int(s.Height))
	copy(file, "BM")
	binary.LittleEndian.PutUint32(file[2:], uint32(len(file)))
	binary.LittleEndian.PutUint32(file[10:], header)
	binary.LittleEndian.PutUint32(file[14:], 40)
	binary.LittleEndian.PutUint32(file[18:], uint32(s.Width))
	binary.LittleEndian.PutUint32(file[22:], uint32(s.Height))
	binary.LittleEndian.PutUint16(file[26:], 1)
	binary.LittleEndian.PutUint16(file[28:], 24)
	for y := range int(s.Height) {
		row := file[header+(int(s.Height)-1-y)*stride:]
		for x := range int(s.Width) {
			pixel := rgb[3*(y*int(s.Width)+x):]
			row[3*x], row[3*x+1], row[3*x+2] = pixel[2], pixel[1], pixel[0]
		}
	}
	return file
}

func jpegOf(m image.Image) []byte {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, m, &jpeg.Options{Quality: 90}); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// cut is a file without its second half: a sound header, and pixels that no decoder of ours gives.
func cut(file []byte) []byte { return file[:len(file)/2] }

// Kinds of photo, each made from a size and noise.
var kinds = map[string]func(s recipe.Size, random *rand.Rand) photo{
	"png": func(s recipe.Size, random *rand.Rand) photo {
		rgb := noise(s, random)
		return photo{file: pngOf(s, rgb), size: s, rgb: rgb}
	},
	"jpeg": func(s recipe.Size, random *rand.Rand) photo {
		file := jpegOf(toImage(s, noise(s, random)))
		return photo{file: file, size: s, rgb: turbo(file, s)}
	},
	"grey jpeg": func(s recipe.Size, random *rand.Rand) photo {
		m := image.NewGray(image.Rect(0, 0, int(s.Width), int(s.Height)))
		for y := range int(s.Height) {
			for x := range int(s.Width) {
				m.SetGray(x, y, color.Gray{Y: byte(random.Uint32())})
			}
		}
		file := jpegOf(m)
		return photo{file: file, size: s, rgb: turbo(file, s)}
	},
	// Of a known size, but only Pillow decodes it.
	"bmp": func(s recipe.Size, random *rand.Rand) photo {
		rgb := noise(s, random)
		return photo{file: bmpOf(s, rgb), size: s, rgb: rgb}
	},
	// Pillow was told to load truncated images.
	"cut png": func(s recipe.Size, random *rand.Rand) photo {
		rgb := noise(s, random)
		return photo{file: cut(pngOf(s, rgb)), size: s, rgb: rgb}
	},
	// Pillow says another size than the header.
	"liar": func(s recipe.Size, random *rand.Rand) photo {
		file := cut(pngOf(size(int(s.Height)+3, int(s.Width)+1), noise(size(int(s.Height)+3, int(s.Width)+1), random)))
		return photo{file: file, size: s, rgb: noise(s, random)}
	},
	// No header that goloader knows: even the size has to be asked.
	"strange": func(s recipe.Size, random *rand.Rand) photo {
		return photo{file: []byte("a format that only Pillow knows"), size: s, rgb: noise(s, random)}
	},
	// More pixels than Pillow takes without a word.
	"bomb": func(_ recipe.Size, random *rand.Rand) photo {
		s := size(80, maxPixels/80+1)
		rgb := noise(s, random)
		return photo{file: pngOf(s, rgb), size: s, rgb: rgb}
	},
	"broken png": func(s recipe.Size, random *rand.Rand) photo {
		return photo{file: cut(pngOf(s, noise(s, random))), size: s, broken: true}
	},
	"broken jpeg": func(s recipe.Size, random *rand.Rand) photo {
		return photo{file: cut(jpegOf(toImage(s, noise(s, random)))), size: s, broken: true}
	},
	"empty":   func(recipe.Size, *rand.Rand) photo { return photo{file: []byte{}, broken: true} },
	"missing": func(recipe.Size, *rand.Rand) photo { return photo{broken: true} },
}

// good are the kinds that Go decodes, asked those that it asks Pillow for and gets, bad those that nobody can.
var (
	good  = []string{"png", "jpeg", "grey jpeg"}
	asked = []string{"bmp", "cut png", "liar", "strange", "bomb"}
	bad   = []string{"broken png", "broken jpeg", "empty", "missing"}
)

// makePhotos makes n photos, of these kinds by turns, from 17 to 48 pixels a side.
func makePhotos(n int, seed uint64, kindsOf ...string) []photo {
	random := rand.New(rand.NewPCG(seed, 1))
	photos := make([]photo, n)
	for i := range photos {
		kind := kindsOf[i%len(kindsOf)]
		photos[i] = kinds[kind](size(17+random.IntN(32), 17+random.IntN(32)), random)
		photos[i].name = fmt.Sprintf("%03d %s", i, kind)
		photos[i].label = int64(1000 + i)
	}
	return photos
}

// store writes photos into a folder and makes it a source.
func store(t testing.TB, photos []photo) *folder.Folder {
	t.Helper()
	dir := t.TempDir()
	var paths strings.Builder
	offsets, labels := []int64{0}, []int64{}
	for _, p := range photos {
		path := filepath.Join(dir, p.name)
		if p.file != nil {
			require.NoError(t, os.WriteFile(path, p.file, 0o600))
		}
		paths.WriteString(path + "\x00")
		offsets, labels = append(offsets, int64(paths.Len())), append(labels, p.label)
	}
	files, err := folder.New(local.Store{}, []byte(paths.String()), offsets, labels, nil)
	require.NoError(t, err)
	return files
}

// turbo decodes a JPEG with the decoder that runs use: how exact it is, is a matter of tests_go/decode.
func turbo(file []byte, s recipe.Size) []byte {
	block, err := mem.New(mem.Files, len(file))
	if err != nil {
		panic(err)
	}
	defer block.Free()
	copy(block.Bytes(), file)
	planes := carryOut(identity, 3, 1, s, nil, func(jobs *op.Jobs) {
		jobs.SetBytes(0, jpegdecoder.Decoder(), block.Data(), len(file), s)
	})
	n := int(s.Width) * int(s.Height)
	rgb := make([]byte, 3*n)
	for i := range n {
		rgb[3*i], rgb[3*i+1], rgb[3*i+2] = planes[i], planes[n+i], planes[2*n+i]
	}
	return rgb
}

// identity stores pixels as they are.
var identity = func() (table []byte) {
	for range 3 {
		for v := range 256 {
			table = append(table, byte(v))
		}
	}
	return table
}()

// carryOut carries one recipe out, with a worker of its own.
func carryOut(
	table []byte, channels, itemsize int, s recipe.Size, steps []recipe.Step, setPixels func(*op.Jobs),
) []byte {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	worker, err := op.OpenWorker(op.ShrinkFirst)
	must(err)
	defer worker.Close()
	jobs, err := op.NewJobs(1)
	must(err)
	defer jobs.Close()
	store, err := op.NewStore(channels, itemsize, table)
	must(err)
	defer store.Close()
	passes, out, err := op.Fuse(nil, s, steps)
	must(err)
	dst, err := mem.New(mem.Slots, channels*int(out.Width)*int(out.Height)*itemsize)
	must(err)
	defer dst.Free()
	setPixels(jobs)
	jobs.SetPasses(0, passes)
	jobs.SetSample(0, dst.Data(), dst.Size(), store)
	worker.Run(jobs, 1, nil)
	if status := jobs.Status(0); status != op.Decoded {
		panic(fmt.Sprint(status, jobs.Why(0)))
	}
	return bytes.Clone(dst.Bytes())
}

// apply carries a recipe out on pixels.
func apply(table []byte, channels, itemsize int, s recipe.Size, rgb []byte, steps []recipe.Step) []byte {
	block, err := mem.New(mem.Files, len(rgb))
	if err != nil {
		panic(err)
	}
	defer block.Free()
	copy(block.Bytes(), rgb)
	return carryOut(table, channels, itemsize, s, steps, func(jobs *op.Jobs) {
		jobs.SetRaw(0, op.Interleaved, unsafe.Pointer(&block.Bytes()[0]), len(rgb), s)
	})
}
