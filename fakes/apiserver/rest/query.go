package rest

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// setOptions copies the query parameters that the verb knows into req. Others
// are ignored, as the real server does.
func setOptions(req *apiserver.Request, query url.Values) error {
	err := readOptions(req, query)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

func readOptions(req *apiserver.Request, query url.Values) error {
	switch req.Verb {
	case apiserver.Get:
		var opts metav1.GetOptions
		if err := metav1.Convert_url_Values_To_v1_GetOptions(&query, &opts, nil); err != nil {
			return err
		}
		req.ResourceVersion = opts.ResourceVersion
	case apiserver.List, apiserver.WatchVerb, apiserver.DeleteCollection:
		var opts metav1.ListOptions
		if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &opts, nil); err != nil {
			return err
		}
		setListOptions(req, &opts)
	case apiserver.Create:
		var opts metav1.CreateOptions
		if err := metav1.Convert_url_Values_To_v1_CreateOptions(&query, &opts, nil); err != nil {
			return err
		}
		req.DryRun, req.FieldManager, req.FieldValidation = opts.DryRun, opts.FieldManager, opts.FieldValidation
	case apiserver.Update:
		var opts metav1.UpdateOptions
		if err := metav1.Convert_url_Values_To_v1_UpdateOptions(&query, &opts, nil); err != nil {
			return err
		}
		req.DryRun, req.FieldManager, req.FieldValidation = opts.DryRun, opts.FieldManager, opts.FieldValidation
	case apiserver.Patch:
		var opts metav1.PatchOptions
		if err := metav1.Convert_url_Values_To_v1_PatchOptions(&query, &opts, nil); err != nil {
			return err
		}
		req.DryRun, req.FieldManager, req.FieldValidation = opts.DryRun, opts.FieldManager, opts.FieldValidation
		req.Force = opts.Force
	}
	return nil
}

func setListOptions(req *apiserver.Request, opts *metav1.ListOptions) {
	req.LabelSelector, req.FieldSelector = opts.LabelSelector, opts.FieldSelector
	req.ResourceVersion, req.ResourceVersionMatch = opts.ResourceVersion, opts.ResourceVersionMatch
	req.Limit, req.Continue = opts.Limit, opts.Continue
	req.TimeoutSeconds = opts.TimeoutSeconds
	req.SendInitialEvents, req.AllowWatchBookmarks = opts.SendInitialEvents, opts.AllowWatchBookmarks
}

// wantsWatch reads the parameter watch as the real server reads all booleans:
// anything but "false" and "0" is true.
func wantsWatch(query url.Values) bool {
	values, ok := query["watch"]
	return ok && values[0] != "false" && values[0] != "0"
}
