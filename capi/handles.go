package main

import (
	"fmt"
	"sync"
)

// firstHandle is far from the numbers that a forgotten initialisation leaves behind.
const firstHandle = 1 << 32

// table hands out numbers for objects. A number is never used twice, so that a stale one meets an error and not a
// stranger's object.
type table struct {
	mu      sync.RWMutex
	last    int64
	objects map[int64]any
}

var handles = table{last: firstHandle, objects: map[int64]any{}}

func (t *table) put(object any) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.objects[t.last] = object
	return t.last
}

// restore puts back what take took.
func (t *table) restore(handle int64, object any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects[handle] = object
}

func (t *table) count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.objects)
}

// get finds the object of a handle, which must be of type T.
func get[T any](t *table, handle int64) (T, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return find[T](t, handle)
}

// all finds the objects of type T.
func all[T any](t *table) (found []T) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, object := range t.objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// take finds the object of a handle that nobody finds any more: one of two who close it at the same time.
func take[T any](t *table, handle int64) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	object, err := find[T](t, handle)
	if err == nil {
		delete(t.objects, handle)
	}
	return object, err
}

func find[T any](t *table, handle int64) (T, error) {
	object, ok := t.objects[handle].(T)
	if !ok {
		return object, fmt.Errorf("handle %d: %w", handle, errHandle)
	}
	return object, nil
}
