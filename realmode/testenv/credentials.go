package testenv

import (
	"context"
	"fmt"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeTokens writes the file of tokens that kube-apiserver knows. The token of
// the controllers is the admin's with a suffix.
func (s *Server) writeTokens() (string, error) {
	file := s.folder.file("tokens.csv")
	lines := fmt.Sprintf("%s,%s,1,system:masters\n%s,system:kube-controller-manager,2\n", s.token, Admin, s.controllersToken())
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		return "", fmt.Errorf("write the tokens of a test environment: %w", err)
	}
	return file, nil
}

func (s *Server) controllersToken() string { return s.token + "-controllers" }

func (s *Server) writeKubeconfig(file, token string) error {
	const name = "testenv"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: s.URL().String(), CertificateAuthorityData: s.CA()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

// allowAll lets everybody do everything.
func (s *Server) allowAll(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return fmt.Errorf("allow everything: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everybody-may-everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:unauthenticated"},
		},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("allow everything: %w", err)
	}
	return nil
}
