package client_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fake "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// A controller-runtime client on a fake server, with conflicts as a real server
// has them.
func Example() {
	server := apiserver.NewServer(apiserver.NewStore(apiserver.Options{}), "api-0")
	c := fake.New(server, scheme.Scheme)

	ctx := context.Background()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "counter"}}
	if err := c.Create(ctx, cm); err != nil {
		fmt.Println(err)
		return
	}

	mine, theirs := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	_ = c.Get(ctx, client.ObjectKeyFromObject(cm), mine)
	_ = c.Get(ctx, client.ObjectKeyFromObject(cm), theirs)

	theirs.Data = map[string]string{"count": "1"}
	fmt.Println("theirs:", c.Update(ctx, theirs))
	mine.Data = map[string]string{"count": "1"}
	fmt.Println("mine:", c.Update(ctx, mine))
	// Output:
	// theirs: <nil>
	// mine: Operation cannot be fulfilled on configmaps "counter": the object has been modified; please apply your changes to the latest version and try again
}
