package cache

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/goloader/goloader/core/source"
)

// Decoded keeps what is made of files in place of their bytes, in the same tiers: whoever reads a file says what it makes of it,
// and gives that to be kept.
type Decoded struct{ cached }

// Decoded gives what keeps things made of a store's files; nil where the cache keeps their bytes.
func (c *Cache) Decoded(store source.Store) *Decoded {
	if !c.decoded {
		return nil
	}
	stater, _ := source.Innermost(store).(source.Stater)
	return &Decoded{cached{store, c, source.IsRemote(store), stater}}
}

// Place is where something made of one version of a file is kept.
type Place struct {
	entry entry
	is    func(source.Stamp) bool
}

// Place gives the place of what is made of a file, as made says; not known: the file has no version.
func (d *Decoded) Place(ctx context.Context, key source.Key, made string) (p Place, known bool) {
	e, is, known := d.entry(ctx, key)
	if known {
		id := sha256.Sum256(append(e.id[:], made...))
		copy(e.id[:], id[:])
	}
	return Place{e, is}, known
}

var errAbsent = errors.New("it is not kept")

// Get appends what is kept at a place, if something is.
func (d *Decoded) Get(ctx context.Context, p Place, buf *source.Buffer) (stamp source.Stamp, found bool, err error) {
	stamp, _, err = through(ctx, d.cache.kept, p.entry, buf, func() (source.Stamp, bool, error) {
		return source.Stamp{}, false, errAbsent
	})
	if errors.Is(err, errAbsent) {
		d.cache.misses.Add(1)
		return stamp, false, nil
	}
	return stamp, err == nil, err
}

// Put keeps what was made of a file with a stamp, if there is room, and if the file is of the version that the place is for.
func (d *Decoded) Put(ctx context.Context, p Place, stamp source.Stamp, made []byte, scratch *source.Buffer) error {
	if !p.is(stamp) {
		return nil
	}
	_, _, err := through(ctx, d.cache.kept, p.entry, scratch, func() (source.Stamp, bool, error) {
		room, err := scratch.Room(len(made))
		if err == nil {
			scratch.Add(copy(room, made))
		}
		return stamp, err == nil, err
	})
	return err
}

// Full says that something of so many bytes would not be kept.
func (d *Decoded) Full(bytes int) bool { return d.cache.disk == nil && d.cache.ram.refuses(bytes) }
