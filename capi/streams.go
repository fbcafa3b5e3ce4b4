package main

/*
#include "goloader.h"
*/
import "C"

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source/remote"
	"github.com/goloader/goloader/core/source/stream"
	"github.com/goloader/goloader/core/source/tar"
)

func openStream(p *plan.Plan) (*pipeline.Loader, error) {
	fields := len(p.Source.Images)
	for _, column := range p.Source.Columns {
		if fields++; column.Kind != plan.NumberColumn {
			fields++
		}
		if len(column.Of) == 0 && column.Kind != plan.WholeColumn {
			return nil, fmt.Errorf("a column of nothing: %w", errArgument)
		}
	}
	if fields > C.GL_FIELDS_MAX || fields == 0 {
		return nil, fmt.Errorf("%d fields, 1 to %d are possible: %w", fields, C.GL_FIELDS_MAX, errArgument)
	}
	return pipeline.OpenStream(p, &tar.Shards{Local: localFiles, Remote: remotes.Patient(), IsRemote: remote.Is})
}

//export go_lane_open
func go_lane_open(h C.gl_handle, lane C.int32_t, text *C.char, n C.size_t, partial C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		var given struct {
			Order *stream.Order `json:"order"`
			State *stream.State `json:"state"`
		}
		strict := json.NewDecoder(bytes.NewReader(C.GoBytes(unsafe.Pointer(text), C.int(n))))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&given); err != nil {
			return fmt.Errorf("order: %w: %w", err, errArgument)
		}
		if given.Order == nil {
			return fmt.Errorf("no order: %w", errArgument)
		}
		return run.OpenLane(int(lane), given.Order, given.State, partial != 0)
	})
}

//export go_submit_next
func go_submit_next(h C.gl_handle, lane C.int32_t, n C.int64_t, lent unsafe.Pointer, lentBytes C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		if lentBytes < 0 {
			return fmt.Errorf("%d bytes: %w", lentBytes, errArgument)
		}
		return run.SubmitNext(int(lane), int(n), lent, int(lentBytes))
	})
}

//export go_asked_sample
func go_asked_sample(h C.gl_handle, data *unsafe.Pointer, n *C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		packed, err := run.AskedSample()
		if err == nil {
			*data, *n = unsafe.Pointer(unsafe.SliceData(packed)), C.int64_t(len(packed))
		}
		return err
	})
}

//export go_leave_out
func go_leave_out(h C.gl_handle, stop C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return leaving(h, errOut, func(run *pipeline.Run) (int, error) { return run.LeaveOut(stop != 0) })
}

//export go_lane_state
func go_lane_state(h C.gl_handle, lane C.int32_t, text *C.char, room C.int64_t, n *C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	fits := true
	status = withRun(h, errOut, func(run *pipeline.Run) error {
		state, err := run.LaneState(int(lane))
		if err != nil {
			return err
		}
		written, err := json.Marshal(state)
		*n = C.int64_t(len(written) + 1)
		if fits = *n <= C.int64_t(room); fits && err == nil {
			fill(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(room)), string(written))
		}
		return err
	})
	if status == C.GL_OK && !fits {
		return C.GL_EMPTY
	}
	return status
}
