package main

/*
#include "goloader.h"

// Of shim.c: the descriptor that a forked child closes, -1 for none.
void keep_from_children(int fd);
*/
import "C"

import (
	"slices"
	"sync"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/top"
)

var observer struct {
	mu      sync.Mutex
	allowed bool
	server  *top.Server // while loaders are open
}

//export go_observe
func go_observe(allowed C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	observer.mu.Lock()
	observer.allowed = allowed != 0
	observer.mu.Unlock()
	observe()
	return C.GL_OK
}

// observe opens or closes the socket, after loaders were opened or closed. Where there can be none, nobody can look.
func observe() {
	observer.mu.Lock()
	defer observer.mu.Unlock()
	wanted := observer.allowed && len(all[*pipeline.Loader](&handles)) > 0
	switch {
	case wanted && observer.server == nil:
		server, err := top.Listen(look)
		if err != nil {
			return
		}
		observer.server = server
		C.keep_from_children(C.int(server.FD()))
	case !wanted && observer.server != nil:
		C.keep_from_children(-1)
		_ = observer.server.Close()
		observer.server = nil
	}
}

type looked struct {
	stats.Snapshot
	Runs []ran `json:"runs"`
}

type ran struct {
	Number int32                `json:"number"`
	Doing  []pipeline.Statement `json:"doing"`
}

// look is what goes on in all loaders, the oldest one first; or, if "events" are asked for, what they did last.
func look(request string) any {
	if request == "events" {
		events := make([]stats.Event, stats.EventsMax)
		n, _, _ := stats.Recorded.Read(0, events)
		return map[string]any{"events": events[:n]}
	}
	runs := all[*pipeline.Run](&handles)
	slices.SortFunc(runs, func(a, b *pipeline.Run) int { return int(a.Number() - b.Number()) })
	found := []looked{}
	for _, loader := range all[*pipeline.Loader](&handles) {
		each := looked{Snapshot: loader.Snapshot(), Runs: []ran{}}
		for _, run := range runs {
			if run.Loader() == loader {
				each.Runs = append(each.Runs, ran{run.Number(), run.Statements()})
			}
		}
		found = append(found, each)
	}
	slices.SortFunc(found, func(a, b looked) int { return int(a.Number - b.Number) })
	return map[string]any{"loaders": found}
}
