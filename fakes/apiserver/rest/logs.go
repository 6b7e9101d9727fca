package rest

import (
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// logOptions reads the parameters of pods/log.
func logOptions(query url.Values) (*corev1.PodLogOptions, error) {
	o := &corev1.PodLogOptions{Container: query.Get("container")}
	for _, flag := range []struct {
		name string
		into *bool
	}{{"follow", &o.Follow}, {"previous", &o.Previous}, {"timestamps", &o.Timestamps}} {
		if values, ok := query[flag.name]; ok {
			if err := runtime.Convert_Slice_string_To_bool(&values, flag.into, nil); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
	}
	for _, number := range []struct {
		name string
		into **int64
	}{{"sinceSeconds", &o.SinceSeconds}, {"tailLines", &o.TailLines}, {"limitBytes", &o.LimitBytes}} {
		if values, ok := query[number.name]; ok {
			if err := runtime.Convert_Slice_string_To_Pointer_int64(&values, number.into, nil); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
	}
	if values, ok := query["sinceTime"]; ok {
		o.SinceTime = &metav1.Time{}
		if err := metav1.Convert_Slice_string_To_v1_Time(&values, o.SinceTime, nil); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return o, nil
}
