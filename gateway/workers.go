package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Workers do runs on other machines. Errors with Code and Hint are told to the worker.
type Workers interface {
	// Answer answers a method of workers, whose parameters are those of its schema. It returns soon after ctx ends.
	Answer(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Shown lists the workers for operators.
	Shown() any
}

// methodsOfWorkers are the methods that only workers call.
var methodsOfWorkers = []string{"worker.register", "worker.lease", "worker.next", "worker.report", "worker.leave"}

func (s *Server) workerMethods() map[string]answer {
	methods := map[string]answer{"worker.list": func(context.Context, *wire.Call) (any, error) {
		if s.opts.Workers == nil {
			return nil, noWorkers()
		}
		return s.opts.Workers.Shown(), nil
	}}
	for _, name := range methodsOfWorkers {
		methods[name] = s.answerWorker
	}
	return methods
}

func noWorkers() error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: "no agents run here", Details: absence{"agents_not_run"}}
}

// refusedWorker says to a worker what is wrong.
type refusedWorker struct {
	Code  string `json:"code"`
	Field string `json:"field,omitempty"`
	Hint  string `json:"hint"`
}

func (s *Server) answerWorker(ctx context.Context, call *wire.Call) (any, error) {
	if s.opts.Workers == nil {
		return nil, noWorkers()
	}
	payload, err := s.opts.Workers.Answer(ctx, call.Method, call.Params)
	var refused interface {
		error
		Code() string
		Hint() string
	}
	if errors.As(err, &refused) {
		return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: refused.Error(), Details: refusedWorker{Code: refused.Code(), Hint: refused.Hint()}}
	}
	return payload, err
}
