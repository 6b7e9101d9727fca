package indexedjob

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Status is how a Job is doing.
type Status struct {
	Active, Succeeded int32
	Failed            []int32 // the indexes that are given up

	// Ended says that no index will be tried any more, Reason and Message why, if
	// that is not since all are done.
	Ended           bool
	Reason, Message string
}

// ErrGone is that somebody has deleted the Job.
var ErrGone = errors.New("the Job is gone; somebody has deleted it")

// Follow looks at the Job again and again, every so often, until it has ended, and
// shows each status. An API server that does not answer is asked again for as long as
// ctx lasts: a Job goes on without who follows it.
func (j *Job) Follow(ctx context.Context, c client.Reader, every time.Duration, show func(Status, error)) (Status, error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		status, err := j.status(ctx, c)
		switch {
		case ctx.Err() != nil:
			return status, context.Cause(ctx)
		case errors.Is(err, ErrGone), err == nil && status.Ended:
			return status, err
		}
		show(status, err)
		select {
		case <-ctx.Done():
			return status, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (j *Job) status(ctx context.Context, c client.Reader) (Status, error) {
	job := &batchv1.Job{}
	name := client.ObjectKey{Namespace: j.Namespace, Name: j.Name}
	err := c.Get(ctx, name, job)
	if apierrors.IsNotFound(err) {
		return Status{}, fmt.Errorf("get Job %s: %w", name, ErrGone)
	}
	if err != nil {
		return Status{}, fmt.Errorf("get Job %s: %w", name, err)
	}
	s := Status{Active: job.Status.Active, Succeeded: job.Status.Succeeded}
	if job.Status.FailedIndexes != nil {
		if s.Failed, err = parseIndexes(*job.Status.FailedIndexes); err != nil {
			return Status{}, fmt.Errorf("read the failed indexes of Job %s: %w", name, err)
		}
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			s.Ended = true
		case batchv1.JobFailed:
			s.Ended, s.Reason, s.Message = true, condition.Reason, condition.Message
		}
	}
	return s, nil
}

var errIndexes = errors.New("expected numbers and ranges of numbers separated by commas")

// parseIndexes reads the form of a Job's status, such as 1,3-5.
func parseIndexes(text string) ([]int32, error) {
	if text == "" {
		return nil, nil
	}
	var all []int32
	for item := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(item, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseInt(to, 10, 32)
		}
		if err != nil || first < 0 || last < first {
			return nil, fmt.Errorf("%q: %w", text, errIndexes)
		}
		for i := first; i <= last; i++ {
			all = append(all, int32(i))
		}
	}
	return all, nil
}
