package chunked

import (
	"container/list"
	"context"
	"sync"
)

// Cache keeps decoded chunks of some arrays: the ones that were used last, so many bytes of them, and those in use now.
type Cache struct {
	most int

	mu     sync.Mutex
	chunks map[key]*entry
	idle   list.List // of *entry: those that nobody uses, the one used longest ago first
	used   int       // bytes of all chunks
}

type key struct {
	array  *chunked
	number int
}

// entry is a chunk.
type entry struct {
	key   key
	bytes []byte
	ready chan struct{} // closed once it is decoded, or was not:
	err   error
	users int
	idle  *list.Element
}

// NewCache makes a cache of so many bytes.
func NewCache(most int) *Cache { return &Cache{most: most, chunks: map[key]*entry{}} }

// get gives a chunk, to be released. Who asks first decodes it, the others wait.
func (c *Cache) get(ctx context.Context, k key, size int, decode func([]byte) error) (*entry, error) {
	for {
		e, first := c.take(k, size)
		if first {
			if e.err = decode(e.bytes); e.err != nil {
				c.forget(e)
			}
			close(e.ready)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			c.release(e)
			return nil, ctx.Err()
		}
		if e.err == nil {
			return e, nil
		}
		c.release(e)
		if first || ctx.Err() != nil {
			return nil, e.err
		}
		// Who decoded it may have been told to stop, which is nothing to us.
	}
}

// take gives a chunk's entry, and says whether it is to be decoded.
func (c *Cache) take(k key, size int) (e *entry, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e = c.chunks[k]; e != nil {
		if e.idle != nil {
			c.idle.Remove(e.idle)
			e.idle = nil
		}
		e.users++
		return e, false
	}
	e = &entry{key: k, ready: make(chan struct{}), users: 1}
	for c.used+size > c.most && c.idle.Len() > 0 {
		old := c.idle.Front().Value.(*entry)
		c.remove(old)
		if len(old.bytes) == size { // chunks of one array are as large as each other: nothing is allocated then
			e.bytes = old.bytes
		}
	}
	if e.bytes == nil {
		e.bytes = make([]byte, size)
	}
	c.chunks[k] = e
	c.used += size
	return e, true
}

// release says that a chunk is not used any more.
func (c *Cache) release(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if e.users > 0 || c.chunks[e.key] != e {
		return
	}
	e.idle = c.idle.PushBack(e)
	if c.used > c.most {
		c.remove(c.idle.Front().Value.(*entry))
	}
}

// forget lets nobody find an entry any more.
func (c *Cache) forget(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chunks[e.key] == e {
		c.remove(e)
	}
}

// drop forgets the chunks of an array.
func (c *Cache) drop(array *chunked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.chunks {
		if k.array == array {
			c.remove(e)
		}
	}
}

// remove takes an entry out. Under the lock.
func (c *Cache) remove(e *entry) {
	delete(c.chunks, e.key)
	c.used -= len(e.bytes)
	if e.idle != nil {
		c.idle.Remove(e.idle)
		e.idle = nil
	}
}
