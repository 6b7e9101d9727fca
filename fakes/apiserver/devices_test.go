package apiserver_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule13ClaimsOfDevices(t *testing.T) {
	a := newAPI(t)
	claims := resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "a", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c"}},
		{Name: "b", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "x", DeviceClassName: "c"}}},
	}
	got := a.create(claims, c).(*resourcev1.ResourceClaim)
	equal(t, "count", [2]int64{got.Spec.Devices.Requests[0].Exactly.Count, got.Spec.Devices.Requests[1].FirstAvailable[0].Count}, [2]int64{1, 1})
	equal(t, "no generation", got.Generation, 0)
	_, err := a.Do(a.request(apiserver.Patch, claims, "r", merge(`{"spec":{"devices":{"requests":[]}}}`)))
	equal(t, "the spec stays", reasonOf(err), metav1.StatusReasonInvalid)
	c.Name, c.Spec.Devices.Requests = "r2", []resourcev1.DeviceRequest{{Name: "a"}}
	a.refused(a.request(apiserver.Create, claims, "", body(c)), 422, "Invalid",
		"ResourceClaim.resource.k8s.io \"r2\" is invalid: spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required")
	equal(t, "the answer to a delete is the object", a.delete(claims, "r").Object.GetName(), "r")
}

func TestRule13Slices(t *testing.T) {
	a := newAPI(t)
	a.ns = ""
	slices := resourcev1.SchemeGroupVersion.WithResource("resourceslices")
	a.refused(a.request(apiserver.Create, slices, "", body(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}})), 422, "Invalid",
		"ResourceSlice.resource.k8s.io \"s\" is invalid: [spec.driver: Required value, spec.pool.name: Required value, spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero, "+
			"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required]")
	node := "n"
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "d.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1},
	}}
	equal(t, "generation", a.create(slices, s).GetGeneration(), 1)
	equal(t, "by node", names(a.list(slices, fielded("spec.nodeName=n"))), "s")
}

func TestRule05ClassesOfVolumesStay(t *testing.T) {
	a := newAPI(t)
	a.ns = ""
	classes := storagev1.SchemeGroupVersion.WithResource("volumeattributesclasses")
	got := a.create(classes, &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "v"}, DriverName: "d.example.com", Parameters: map[string]string{"a": "b"}})
	equal(t, "protected", got.GetFinalizers(), []string{"kubernetes.io/vac-protection"})
	a.refused(a.request(apiserver.Patch, classes, "v", merge(`{"parameters":{"a":"c"}}`)), 422, "Invalid",
		`VolumeAttributesClass.storage.k8s.io "v" is invalid: parameters: Forbidden: updates to parameters are forbidden.`)
	capacities := storagev1.SchemeGroupVersion.WithResource("csistoragecapacities")
	a.create(capacities, &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: "c"}, StorageClassName: "x"}, in("default"))
	a.refused(a.request(apiserver.Patch, capacities, "c", in("default"), merge(`{"storageClassName":"y"}`)), 422, "Invalid",
		`CSIStorageCapacity.storage.k8s.io "c" is invalid: storageClassName: Invalid value: "y": field is immutable`)
}
