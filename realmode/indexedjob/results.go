package indexedjob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A result is cut into parts, each in a ConfigMap of its own. The first part is written
// last: with it the result is there. Its annotations say how many parts there are, and
// what the digest of all is.
const (
	partSize = 768 << 10
	partsMax = 8

	partsAnnotation  = "indexedjob.seedbed.dev/parts"
	digestAnnotation = "indexedjob.seedbed.dev/sha256"
	entry            = "result"
)

// ResultMax is how large a result may be, in bytes.
const ResultMax = partSize * partsMax

// Errors of results.
var (
	ErrTooLarge = fmt.Errorf("the result is larger than %d bytes", ResultMax)
	ErrSpoilt   = errors.New("the result is not what was published")
)

// Publish keeps what the program has found for an index. Published again, it replaces
// what there was.
func Publish(ctx context.Context, c client.Client, job client.ObjectKey, index int32, result []byte) error {
	if len(result) > ResultMax {
		return fmt.Errorf("publish the result of index %d of Job %s: %w", index, job, ErrTooLarge)
	}
	parts := max(1, (len(result)+partSize-1)/partSize)
	for part := parts - 1; part >= 0; part-- {
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: resultName(job.Name, index, part), Labels: map[string]string{Label: job.Name}},
			BinaryData: map[string][]byte{entry: result[part*partSize : min(len(result), (part+1)*partSize)]},
		}
		if part == 0 {
			m.Annotations = map[string]string{partsAnnotation: strconv.Itoa(parts), digestAnnotation: digest(result)}
		}
		if err := put(ctx, c, m); err != nil {
			return fmt.Errorf("publish the result of index %d of Job %s: %w", index, job, err)
		}
	}
	return nil
}

// put creates a ConfigMap or replaces it.
func put(ctx context.Context, c client.Client, m *corev1.ConfigMap) error {
	err := c.Create(ctx, m)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.Update(ctx, m)
}

func digest(result []byte) string {
	sum := sha256.Sum256(result)
	return hex.EncodeToString(sum[:])
}

// Published returns the result of an index; nil if there is none.
func Published(ctx context.Context, c client.Reader, job client.ObjectKey, index int32) ([]byte, error) {
	first, err := part(ctx, c, job, index, 0)
	if first == nil || err != nil {
		return nil, err
	}
	parts, err := strconv.Atoi(first.Annotations[partsAnnotation])
	if err != nil || parts < 1 || parts > partsMax {
		return nil, fmt.Errorf("read the result of index %d of Job %s: %w: its number of parts is %q", index, job, ErrSpoilt, first.Annotations[partsAnnotation])
	}
	result := bytes.Clone(first.BinaryData[entry])
	for i := 1; i < parts; i++ {
		next, err := part(ctx, c, job, index, i)
		if err != nil {
			return nil, err
		}
		if next != nil {
			result = append(result, next.BinaryData[entry]...)
		}
	}
	if digest(result) != first.Annotations[digestAnnotation] {
		return nil, fmt.Errorf("read the result of index %d of Job %s: %w", index, job, ErrSpoilt)
	}
	return result, nil
}

// part returns a part of a result; nil if it is not there.
func part(ctx context.Context, c client.Reader, job client.ObjectKey, index int32, number int) (*corev1.ConfigMap, error) {
	m := &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: job.Namespace, Name: resultName(job.Name, index, number)}
	err := c.Get(ctx, name, m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return m, nil
}

// Results returns what was published so far, by index.
func (j *Job) Results(ctx context.Context, c client.Reader) (map[int32][]byte, error) {
	results := map[int32][]byte{}
	for index := range j.Indexes {
		result, err := Published(ctx, c, client.ObjectKey{Namespace: j.Namespace, Name: j.Name}, index)
		if err != nil {
			return nil, err
		}
		if result != nil {
			results[index] = result
		}
	}
	return results, nil
}
