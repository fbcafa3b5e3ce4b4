// Package node is what the ranks of a machine have in common: how many of its cores each of them needs, and memory that they
// find by its name, once for all.
//
// What always holds: no rank waits for another's work; one that is stopped, is killed, or says nonsense costs the others
// nothing but what it would have shared.
package node

import (
	"fmt"
	"sync"
	"sync/atomic"
)

var (
	joining sync.Mutex
	shares  atomic.Bool
	table   atomic.Pointer[Cores]
)

// Join says that this process is a rank of several that one program started here. Later calls, which runs do not follow, are
// for a child that was forked.
//
//	cores  that they share; 0: each has its own, and they have only memory in common
//
// Where they cannot share cores, which is an error, each has its share.
func Join(rank, ranks, cores int) error {
	joining.Lock()
	defer joining.Unlock()
	if ranks < 2 {
		return fmt.Errorf("%d ranks", ranks)
	}
	shares.Store(true)
	if cores == 0 || table.Load() != nil {
		return nil
	}
	made, err := OpenCores(fmt.Sprintf("cores-%d", ranks), rank, ranks, cores)
	if err == nil {
		table.Store(made)
	}
	return err
}

// Shares reports whether there are other ranks to have memory in common with.
func Shares() bool { return shares.Load() }

// Table is where the ranks say how many cores they need; nil: they share none.
func Table() *Cores { return table.Load() }
