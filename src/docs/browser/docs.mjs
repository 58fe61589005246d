// Sign-in and sign-out, and the copy buttons of the samples.
const { root } = document.documentElement.dataset;
const account = document.querySelector('.account');
const summary = account.querySelector('summary');
const signIn = account.querySelector('[data-sign-in]');
const signOut = account.querySelector('[data-sign-out]');
const errorMessage = signIn.querySelector('.error');

// Scripts cannot read the session cookie. This entry in localStorage records that there may be a session, so that visitors who
// never signed in do not cause a request with a 401 response on every page.
const signedInKey = 'sitekeeper signed in';

function showAccount(email) {
  summary.textContent = email ? 'Signed in' : 'Sign in';
  account.querySelector('[data-email]').textContent = email ?? '';
  signIn.hidden = Boolean(email);
  signOut.hidden = !email;
  if (email) localStorage.setItem(signedInKey, 'yes');
  else localStorage.removeItem(signedInKey);
}

async function requestSession(method, credentials) {
  const response = await fetch(`${root}api/session`, {
    method,
    ...(credentials && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(credentials) }),
  });
  return { ok: response.ok, status: response.status, body: await response.json() };
}

signIn.addEventListener('submit', async (event) => {
  event.preventDefault();
  errorMessage.hidden = true;
  try {
    const { ok, body } = await requestSession('POST', Object.fromEntries(new FormData(signIn)));
    if (!ok) throw new Error(body.detail);
    signIn.reset();
    showAccount(body.data.user.email);
    account.open = false;
  } catch (error) {
    errorMessage.textContent = error.message;
    errorMessage.hidden = false;
  }
});

signOut.addEventListener('submit', async (event) => {
  event.preventDefault();
  await requestSession('DELETE');
  showAccount();
  account.open = false;
});

if (localStorage.getItem(signedInKey)) {
  const { ok, status, body } = await requestSession('GET');
  if (ok) showAccount(body.data.user.email);
  else if (status === 401) showAccount();
}

// Browsers provide the clipboard only on pages that are loaded over https or from localhost.
for (const sample of navigator.clipboard ? document.querySelectorAll('pre') : []) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(sample.textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  sample.parentElement.append(button);
}
