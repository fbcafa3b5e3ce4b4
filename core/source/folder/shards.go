package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/tar"
)

// Shards are tar archives of samples, as WebDataset writes them: files that follow each other and share a name up to the
// first dot are one sample.
type Shards struct {
	Paths []string
	// Images are suffixes ("jpg"); a sample's file with the first of them that it has is its image, and the only one that
	// is listed. None: all files are listed, and labelled with the number of their sample.
	Images []string
	// Target is the suffix of the file with an image's class number, in decimal digits.
	Target string
	// Remote is where Paths are URLs; nil: they are paths.
	Remote source.Remote
}

// targetMax is how many bytes a class number may have.
const targetMax = 32

// shard is what was found in one archive.
type shard struct {
	Directory
	archive string // as a source.Key has it
	names   []string
	spans   []int64
	labels  []int64
	samples int64
}

func (s Shards) key() string { return keyOf(s.Paths, s.Images, []string{s.Target}) }

func (s Shards) remote() source.Remote { return s.Remote }

// list looks into all archives, as many at a time as there are cores, or a server is asked for. Fails with ErrUnreadable for one that cannot be read,
// and where a sample has no image or class number, or a file twice.
func (s Shards) list(ctx context.Context, progress *Progress) (*Folder, []Directory, error) {
	found := make([]*shard, len(s.Paths))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	if s.Remote != nil {
		group.SetLimit(remoteAtOnce)
	}
	for i, path := range s.Paths {
		group.Go(func() (err error) {
			if err = within.Err(); err == nil {
				found[i], err = s.look(within, path, progress)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return s.join(found)
}

func (s Shards) join(found []*shard) (*Folder, []Directory, error) {
	files, size := 0, 0
	for _, each := range found {
		files += len(each.labels)
		for _, name := range each.names {
			size += len(each.archive) + len(name) + 2
		}
	}
	f, err := allocate(storeOf(s.Remote), files, size, true)
	if err != nil {
		return nil, nil, err
	}
	paths, labels, spans := f.paths[:0], f.labels[:0], f.spans[:0]
	f.offsets[0] = 0
	samples := int64(0)
	directories := make([]Directory, len(found))
	for i, each := range found {
		directories[i] = each.Directory
		spans = append(spans, each.spans...)
		for j, name := range each.names {
			paths = append(append(append(append(paths, each.archive...), 0), name...), 0)
			label := each.labels[j]
			if len(s.Images) == 0 {
				label += samples
			}
			labels = append(labels, label)
			f.offsets[len(labels)] = int64(len(paths))
		}
		samples += each.samples
	}
	return f, directories, nil
}

func (s Shards) look(ctx context.Context, path string, progress *Progress) (*shard, error) {
	unreadable := func(err error) error {
		if errors.Is(err, source.ErrUnreadable) { // a server's, which names the place
			return err
		}
		return fmt.Errorf("%s: %w: %w", path, source.ErrUnreadable, err)
	}
	made, file, err := s.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var of sample
	err = tar.Members(file, func(m tar.Member, r io.Reader) error {
		key, suffix, ok := tar.Split(m.Name)
		if !ok {
			return ctx.Err()
		}
		if key != of.key || len(of.parts) == 0 {
			if err := s.end(made, &of); err != nil {
				return err
			}
			of = sample{key: key, parts: of.parts[:0]}
			progress.Files.Add(1)
		}
		if of.find(suffix) >= 0 {
			return fmt.Errorf("sample %q has two files .%s, the second at byte %d", key, suffix, m.Offset)
		}
		p := part{Member: m, suffix: suffix}
		if suffix == s.Target && m.Bytes <= targetMax && len(s.Images) > 0 {
			text := make([]byte, m.Bytes)
			if _, err := io.ReadFull(r, text); err != nil {
				return fmt.Errorf("%q at byte %d: %w", m.Name, m.Offset, err)
			}
			p.text = string(text)
		}
		of.parts = append(of.parts, p)
		return ctx.Err()
	})
	if err == nil {
		err = s.end(made, &of)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return made, nil
}

// open opens an archive of which nothing is listed yet.
func (s Shards) open(ctx context.Context, path string) (*shard, io.ReadSeekCloser, error) {
	if s.Remote != nil {
		return openRemote(ctx, s.Remote, path)
	}
	unreadable := func(err error) error { return fmt.Errorf("%s: %w: %w", path, source.ErrUnreadable, err) }
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file")
	}
	if err != nil {
		file.Close()
		return nil, nil, unreadable(err)
	}
	return &shard{Directory: Directory{Path: path, ModTime: info.ModTime().UnixNano()}, archive: path}, file, nil
}

// sample is one in the making.
type sample struct {
	key   string
	parts []part
}

type part struct {
	tar.Member
	suffix, text string
}

// find gives the place of the part with a suffix; -1 if there is none.
func (of *sample) find(suffix string) int {
	return slices.IndexFunc(of.parts, func(p part) bool { return p.suffix == suffix })
}

// end adds a whole sample to what is listed.
func (s Shards) end(made *shard, of *sample) error {
	if len(of.parts) == 0 {
		return nil
	}
	number := made.samples
	made.samples++
	if len(s.Images) == 0 {
		for _, p := range of.parts {
			made.add(p, number)
		}
		return nil
	}
	image := -1
	for _, suffix := range s.Images {
		if image = of.find(suffix); image >= 0 {
			break
		}
	}
	if image < 0 {
		return fmt.Errorf("sample %q has no .%s", of.key, strings.Join(s.Images, ", ."))
	}
	target := of.find(s.Target)
	if target < 0 {
		return fmt.Errorf("sample %q has no .%s", of.key, s.Target)
	}
	label, err := strconv.ParseInt(strings.TrimSpace(of.parts[target].text), 10, 64)
	if err != nil {
		p := of.parts[target]
		return fmt.Errorf("%q, %d bytes at byte %d, holds no class number", p.Name, p.Bytes, p.Offset)
	}
	made.add(of.parts[image], label)
	return nil
}

func (made *shard) add(p part, label int64) {
	made.names = append(made.names, p.Name)
	made.spans = append(made.spans, p.Offset, p.Bytes)
	made.labels = append(made.labels, label)
}
