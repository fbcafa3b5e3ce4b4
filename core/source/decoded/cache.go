// Package decoded keeps what was decoded of files for a while: chunks of arrays, pages of tables.
package decoded

import (
	"container/list"
	"context"
	"sync"
)

// Cache keeps decoded pieces: the ones that were used last, so many bytes of them, and those in use now.
type Cache struct {
	most int

	mu     sync.Mutex
	pieces map[Key]*Piece
	idle   list.List // of *Piece: those that nobody uses, the one used longest ago first
	used   int       // bytes of all pieces
}

// Key names a piece of an owner, such as an array, which compares with others by its address.
type Key struct {
	Owner  any
	Number int
}

// Piece is one of the pieces of a cache. Whoever gets it only reads its Bytes, until Release.
type Piece struct {
	Bytes []byte

	key   Key
	ready chan struct{} // closed once it is decoded, or was not:
	err   error
	users int
	idle  *list.Element
}

// NewCache makes a cache of so many bytes.
func NewCache(most int) *Cache { return &Cache{most: most, pieces: map[Key]*Piece{}} }

// Get gives a piece of so many bytes, to be released. Who asks first decodes it, the others wait.
func (c *Cache) Get(ctx context.Context, k Key, size int, decode func([]byte) error) (*Piece, error) {
	for {
		e, first := c.take(k, size)
		if first {
			if e.err = decode(e.Bytes); e.err != nil {
				c.forget(e)
			}
			close(e.ready)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			c.Release(e)
			return nil, ctx.Err()
		}
		if e.err == nil {
			return e, nil
		}
		c.Release(e)
		if first || ctx.Err() != nil {
			return nil, e.err
		}
		// Who decoded it may have been told to stop, which is nothing to us.
	}
}

// take gives a piece, and says whether it is to be decoded.
func (c *Cache) take(k Key, size int) (e *Piece, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e = c.pieces[k]; e != nil {
		if e.idle != nil {
			c.idle.Remove(e.idle)
			e.idle = nil
		}
		e.users++
		return e, false
	}
	e = &Piece{key: k, ready: make(chan struct{}), users: 1}
	for c.used+size > c.most && c.idle.Len() > 0 {
		old := c.idle.Front().Value.(*Piece)
		c.remove(old)
		if len(old.Bytes) == size { // as chunks of one array are: nothing is allocated then
			e.Bytes = old.Bytes
		}
	}
	if e.Bytes == nil {
		e.Bytes = make([]byte, size)
	}
	c.pieces[k] = e
	c.used += size
	return e, true
}

// Release says that a piece is not used any more.
func (c *Cache) Release(e *Piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if e.users > 0 || c.pieces[e.key] != e {
		return
	}
	e.idle = c.idle.PushBack(e)
	if c.used > c.most {
		c.remove(c.idle.Front().Value.(*Piece))
	}
}

// forget lets nobody find a piece any more.
func (c *Cache) forget(e *Piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pieces[e.key] == e {
		c.remove(e)
	}
}

// Drop forgets the pieces of an owner.
func (c *Cache) Drop(owner any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.pieces {
		if k.Owner == owner {
			c.remove(e)
		}
	}
}

// remove takes a piece out. Under the lock.
func (c *Cache) remove(e *Piece) {
	delete(c.pieces, e.key)
	c.used -= len(e.Bytes)
	if e.idle != nil {
		c.idle.Remove(e.idle)
		e.idle = nil
	}
}
