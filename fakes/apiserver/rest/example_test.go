package rest_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

// A kubernetes.Interface in front of a fake server, without a socket.
func Example() {
	server := apiserver.NewServer(apiserver.NewStore(apiserver.Options{}), "api-0")
	client := kubernetes.NewForConfigOrDie(rest.New(server).Config())

	ctx := context.Background()
	secrets := client.CoreV1().Secrets("default")
	_, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "gossip-key"},
		StringData: map[string]string{"key": "not a real one"},
	}, metav1.CreateOptions{})
	fmt.Println("created:", err == nil)

	s, _ := secrets.Get(ctx, "gossip-key", metav1.GetOptions{})
	fmt.Println(s.Type, len(s.Data))

	_, err = secrets.Create(ctx, s, metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// created: true
	// Opaque 1
	// resourceVersion should not be set on objects to be created
}
